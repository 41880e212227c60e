/** `/assets/*`: what the pages load. */
import * as Effect from "effect/Effect"
import { type Asset, icon, stylesheet } from "../internal/assets.ts"
import type { Route } from "../Router.ts"
import * as ErrorPage from "./ErrorPage.tsx"

/**
 * A file, for ever under its version. Under another version, which a page of a node with another release asks for,
 * this node's own is better than none, but not for longer than this once.
 */
const serve = (asset: Asset): Route => ({
  path: asset.path,
  methods: {
    GET: (_, [version]) =>
      Effect.succeed({
        status: 200,
        headers: {
          "content-type": `${asset.type};charset=UTF-8`,
          "cache-control": version === asset.version ? "public, max-age=31536000, immutable" : "no-store",
          "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
          "x-content-type-options": "nosniff"
        },
        body: asset.text
      })
  },
  refuse: ErrorPage.refuse
})

export const routes: ReadonlyArray<Route> = [serve(stylesheet), serve(icon)]

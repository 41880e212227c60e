/** `/assets/*`: what the pages load. */
import * as Effect from "effect/Effect"
import { type Asset, icon, stylesheet } from "./assetFiles.ts"
import type { Refuse, Route } from "@startlist/http/Router"
import * as ErrorPage from "./ErrorPage.ts"

/**
 * A file, for ever under its version. Under another version, which a page of a node with another release asks for,
 * this node's own is better than none, but not for longer than this once.
 */
const serve = (asset: Asset, refuse: Refuse): Route => ({
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
  refuse
})

export const make: Effect.Effect<ReadonlyArray<Route>> = Effect.map(
  ErrorPage.make,
  ({ refuse }) => [serve(stylesheet, refuse), serve(icon, refuse)]
)

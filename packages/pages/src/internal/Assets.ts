/** `/assets/*`: files that the pages load. */
import * as Effect from "effect/Effect"
import { type Asset, icon, stylesheet } from "./assetFiles.ts"
import type { Refuse, Route } from "@startlist/http/Router"
import * as EntityTag from "./EntityTag.ts"
import * as ErrorPage from "./ErrorPage.ts"

/**
 * A file, cacheable forever under its version. A page of another release asks for another version: it gets this
 * release's file, without caching.
 */
const serve = (asset: Asset, refuse: Refuse): Route => {
  const tag = EntityTag.make(asset.version)
  const body = new TextEncoder().encode(asset.text)
  return {
    path: asset.path,
    methods: {
      GET: (request, [version]) => {
        const headers = {
          "content-type": `${asset.type};charset=UTF-8`,
          "cache-control": version === asset.version ? "public, max-age=31536000, immutable" : "no-cache",
          "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
          "x-content-type-options": "nosniff",
          etag: tag
        }
        return Effect.succeed(
          EntityTag.isKnown(request, tag) ? { status: 304, headers, body: "" } : { status: 200, headers, body }
        )
      }
    },
    refuse
  }
}

export const make: Effect.Effect<ReadonlyArray<Route>> = Effect.map(
  ErrorPage.make,
  ({ refuse }) => [serve(stylesheet, refuse), serve(icon, refuse)]
)

/** `/assets/*`: what the pages load. */
import * as Effect from "effect/Effect"
import type { Route } from "../Router.ts"
import * as ErrorPage from "./ErrorPage.tsx"
import * as Stylesheet from "./Stylesheet.ts"

/**
 * The style sheet, for ever under its version. Under another version, which a page of a node with another release asks
 * for, this node's own is better than none, but not for longer than this once.
 */
export const route: Route = {
  path: Stylesheet.path,
  methods: {
    GET: (_, [version]) =>
      Effect.succeed({
        status: 200,
        headers: {
          "content-type": "text/css;charset=UTF-8",
          "cache-control": version === Stylesheet.version ? "public, max-age=31536000, immutable" : "no-store",
          "x-content-type-options": "nosniff"
        },
        body: Stylesheet.text
      })
  },
  refuse: ErrorPage.refuse
}

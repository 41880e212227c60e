/** Routes that every page needs: files, the language switch, and shorter addresses of pages. */
import * as Effect from "effect/Effect"
import { header, redirect, type Request, type Response } from "@startlist/http/Http"
import { type File, makeBrand } from "./Page.ts"
import type { Refuse, Route } from "@startlist/http/Router"
import * as ErrorPage from "./ErrorPage.ts"
import { get, readOnce } from "@startlist/http/Parameters"
import { Malformed } from "@startlist/http/Refusal"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import * as Locale from "./Locale.ts"
import { safeReturn } from "./Forms.ts"

/** An entity tag (RFC 9110 §8.8.3). It is weak, because the compressed file has the same one. */
export const entityTag = (version: string): string => `W/"${version}"`

/** Whether the client has the version with this tag (RFC 9110 §13.1.2). */
export const hasTag = (request: Request, tag: string): boolean => {
  const known = header(request, "if-none-match") ?? ""
  return known.trim() === "*" || known.split(",").some((one) => one.trim() === tag)
}

/**
 * A file, cacheable forever under its version. A page of another release asks for another version: it gets this
 * release's file, without caching.
 */
const serve = (file: File, refuse: Refuse, path = file.path): Route => {
  const tag = entityTag(file.version)
  return {
    path,
    methods: {
      GET: (request, [version]) => {
        const headers = {
          "content-type": /^text|xml$/.test(file.type) ? `${file.type};charset=UTF-8` : file.type,
          "cache-control": version === file.version ? "public, max-age=31536000, immutable" : "no-cache",
          // A logo may have styles of its own, but no script.
          "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'",
          "x-content-type-options": "nosniff",
          etag: tag
        }
        return Effect.succeed(
          hasTag(request, tag) ? { status: 304, headers, body: "" } : { status: 200, headers, body: file.content }
        )
      }
    },
    refuse
  }
}

/** `/assets/*`: files that the pages load. */
const makeAssets: Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> = Effect.zipWith(
  ErrorPage.make,
  makeBrand,
  ({ refuse }, { icon, stylesheet }) => [serve(stylesheet, refuse), serve(icon, refuse)]
)

/** Signed-in pages are for nobody else. */
const robots = "User-agent: *\nDisallow: /\nAllow: /$\nAllow: /docs\n"

/** `/favicon.ico` and `/robots.txt`, which browsers and crawlers request from every site. */
export const makeWellKnown: Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> = Effect.zipWith(
  ErrorPage.make,
  makeBrand,
  ({ refuse }, { icon }) => [serve(icon, refuse, "/favicon.ico"), {
    path: "/robots.txt",
    methods: {
      GET: () =>
        Effect.succeed({
          status: 200,
          headers: { "content-type": "text/plain;charset=UTF-8", "x-content-type-options": "nosniff" },
          body: robots
        })
    },
    refuse
  }]
)

/** `GET /language`: the switch at the foot of every page. Stores the choice in a cookie and returns to the page. */
const makeLanguage: Effect.Effect<Route, never, HttpConfig> = Effect.gen(function*() {
  const base = basePath(yield* HttpConfig)
  const { refuse } = yield* ErrorPage.make
  return {
    path: "/language",
    methods: {
      GET: (request) =>
        Effect.flatMap(readOnce(request), (parameters) => {
          const locale = Locale.parse(get(parameters, "locale"))
          if (locale === undefined) return Effect.fail(new Malformed({ what: "locale" }))
          const returnTo = safeReturn(get(parameters, "return_to"), `${base}/account/applications`)
          return Effect.succeed(redirect(returnTo, { "set-cookie": Locale.cookie(locale, base) }))
        })
    },
    refuse
  }
})

/** The style sheet, the icon and the language switch. */
export const make: Effect.Effect<ReadonlyArray<Route>, never, HttpConfig> = Effect.zipWith(
  makeLanguage,
  makeAssets,
  (language, assets) => [language, ...assets]
)

/** A shorter address of a page: redirects from `path` to `target` with the query. Both are paths of this service. */
export const alias = (path: string, target: string): Effect.Effect<Route, never, HttpConfig> =>
  Effect.gen(function*() {
    const base = basePath(yield* HttpConfig)
    const { refuse } = yield* ErrorPage.make
    return {
      path,
      methods: {
        GET: ({ query }): Effect.Effect<Response> =>
          Effect.succeed(redirect(`${base}${target}${query === "" ? "" : `?${query}`}`))
      },
      refuse
    }
  })

/** One handler out of those endpoints and pages that a server wants, below the path where it wants them. */
import * as Effect from "effect/Effect"
import type { Handler } from "./Message.ts"
import * as Pages from "./Pages.ts"
import * as Router from "./Router.ts"
import { Served } from "./Served.ts"
import { basePath, metadataPath, Site } from "./Site.ts"

/** Routes made together with what they need, as `Effect.all` makes them: `Effect.all([Protocol.oauth, Pages.consent])`. */
export type Groups<R> = Effect.Effect<ReadonlyArray<ReadonlyArray<Router.Route>>, never, R>

/**
 * A handler for these routes and no others, below the path of `Site.authUrl`: with `https://club.example/connect` it
 * answers `/connect/oauth/token`, and with 404 whatever is not below `/connect`. A later route takes the place of an
 * earlier one with the same path. What is not among them needs no layer, and no page links to it.
 *
 * Bindings hand over the whole path. Where a proxy has taken the prefix away before, say so with `prefix: ""`.
 */
export const make = <R>(
  groups: Groups<R>,
  options: {
    /** What the path of a request begins with before ours. Default: the path of `Site.authUrl`. */
    readonly prefix?: string
  } = {}
): Effect.Effect<Handler, never, R> =>
  Effect.gen(function*() {
    const paths = new Set<string>()
    const routes = (yield* Effect.provideService(groups, Served, { has: (path) => paths.has(path) })).flat()
    for (const { path } of routes) paths.add(path)
    const site = yield* Site
    const prefix = options.prefix ?? basePath(site)
    const notFound = yield* Effect.provideService(Pages.notFound, Served, { has: (path) => paths.has(path) })
    const router = Router.make(routes, notFound)
    return prefix === "" && metadataPath(site) === wellKnown
      ? router
      : below(prefix, metadataPath(site), router, notFound)
  })

const wellKnown = "/.well-known/oauth-authorization-server"

/** Takes the prefix away. The metadata of an issuer with a path has its place outside of that path (RFC 8414 §3.1). */
const below = (prefix: string, metadata: string, router: Handler, notFound: Handler): Handler => (request) =>
  request.path === metadata
    ? router({ ...request, path: wellKnown })
    : request.path === prefix
    ? router({ ...request, path: "/" })
    : request.path.startsWith(`${prefix}/`)
    ? router({ ...request, path: request.path.slice(prefix.length) })
    : notFound(request)

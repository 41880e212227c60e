/** One handler for selected endpoints and pages, below a path. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Handler, Request } from "./Http.ts"
import * as Protocol from "./Protocol.ts"
import * as Router from "./Router.ts"
import { basePath, HttpConfig, metadataPath, resourceMetadataRoot } from "./HttpConfig.ts"

export declare namespace MountedPaths {
  export interface Service {
    /** Whether this path, in the form of the routes, is mounted. Known when all routes are made. */
    readonly has: (path: string) => boolean
  }
}

/**
 * Pages check it before they link to another page. By default, every path is mounted.
 *
 * @example
 * ```ts
 * import { Mount } from "@startlist/http"
 * import { Effect } from "effect"
 *
 * export const hasSecurity = Effect.map(Mount.MountedPaths, ({ has }) => has("/account/security"))
 * ```
 */
export class MountedPaths extends Context.Reference<MountedPaths>()("@startlist/http/MountedPaths", {
  defaultValue: (): MountedPaths.Service => ({ has: () => true })
}) {}

/** Routes that are made together, with the services that they need. */
export type Routes<R> = Effect.Effect<ReadonlyArray<Router.Route>, never, R>

/** Settings of a mounted handler. */
export interface Options<R> {
  /** Prefix of the request paths. Default: the path of `HttpConfig.authUrl`. */
  readonly prefix?: string
  /** Answers requests that match no route. Default: `Protocol.notFound`; with pages, `Pages.notFound`. */
  readonly notFound?: Effect.Effect<Handler, never, R>
}

/** The routes of all groups, with the services that they need. */
const flattened = <Group extends Routes<unknown>>(groups: ReadonlyArray<Group>) =>
  Effect.map(
    Effect.all(groups as ReadonlyArray<Routes<Effect.Effect.Context<Group>>>),
    (made) => made.flat()
  )

/**
 * A handler for these routes and no others, below the path of `HttpConfig.authUrl`: with `https://club.example/connect`
 * it answers `/connect/oauth/token`, and everything outside `/connect` with 404. If two routes have the same path, the
 * later one wins. A missing route needs no layer, and no page links to it.
 *
 * Bindings pass on the whole path. If a proxy has removed the prefix, set `prefix: ""`.
 */
export const make = <Group extends Routes<unknown>, R = never>(
  groups: ReadonlyArray<Group>,
  options: Options<R> = {}
): Effect.Effect<Handler, never, Effect.Effect.Context<Group> | HttpConfig | R> =>
  Effect.gen(function*() {
    const paths = new Set<string>()
    const served = Effect.provideService(MountedPaths, { has: (path) => paths.has(path) })
    const routes = yield* served(flattened(groups))
    for (const { path } of routes) paths.add(path)
    const config = yield* HttpConfig
    const prefix = options.prefix ?? basePath(config)
    const notFound = yield* served(options.notFound ?? Effect.succeed(Protocol.notFound()))
    const router = Router.make(routes, notFound, basePath(config))
    return prefix === "" && metadataPath(config) === wellKnown
      ? router
      : below(prefix, metadataPath(config), router, notFound)
  })

const wellKnown = "/.well-known/oauth-authorization-server"

/** Removes the prefix. The metadata of URLs with a path are outside of that path (RFC 8414 §3.1, RFC 9728 §3.1). */
const below = (prefix: string, metadata: string, router: Handler, notFound: Handler): Handler => {
  const after = (path: string): string | undefined => {
    if (path === metadata) return wellKnown
    if (`${path}/`.startsWith(`${resourceMetadataRoot}/`)) return path
    if (path === prefix) return "/"
    return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined
  }
  /** The path after the prefix, if it has the prefix. The router refuses one of too many slashes, and names its own. */
  const inside = (path: string): string | undefined => {
    const [exact, near] = [after(path), after(Router.withoutExtraSlashes(path))]
    return exact ?? (near === undefined ? undefined : `/${near}`)
  }
  const handler: Handler = (request) => {
    const path = inside(request.path)
    return path === undefined ? notFound(request) : router({ ...request, path })
  }
  return Object.assign(handler, {
    readsBody: ({ method, path: whole }: Pick<Request, "method" | "path">) => {
      const path = inside(whole)
      return (path === undefined ? notFound : router).readsBody?.({ method, path: path ?? whole }) ?? true
    }
  })
}

/** The shared parts of `Startlist.make` and `WebStartlist.make`: everything except the binding to `node:http`. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Audit from "@startlist/core/Audit"
import type { Callbacks } from "@startlist/core/Callbacks"
import type { Stores } from "@startlist/core/Services"
import { named, Platform } from "@startlist/core/Platform"
import { documented, Policy } from "@startlist/core/Policy"
import type { Secrets } from "@startlist/core/Secrets"
import { StoreError } from "@startlist/core/Store"
import * as CoreUser from "@startlist/core/User"
import * as Embedding from "@startlist/http/Embedding"
import * as Guard from "@startlist/http/Guard"
import type { Handler, Request as PlainRequest, Response as PlainResponse } from "@startlist/http/Http"
import * as Mount from "@startlist/http/Mount"
import * as Protocol from "@startlist/http/Protocol"
import { HttpConfig, type Resource } from "@startlist/http/HttpConfig"
import * as WebHttp from "@startlist/http/WebHttp"
import type { Templates } from "@startlist/pages/Templates"
import * as Binding from "./Binding.ts"
import type { Calls, Consents } from "./Calls.ts"
import * as Consent from "./Consents.ts"
import * as Convert from "./Convert.ts"
import type * as Plain from "./Plain.ts"

/** Groups of endpoints that can be mounted: see `Protocol` and `Pages`. */
export type Endpoints = "oauth" | "athlete" | "webhooks" | "consent" | "account" | "developer"

/** A value, or a promise of it. */
export type MaybePromise<A> = A | Promise<A>

/** Identifies the user of the browser, and has the URLs for signing in and out. */
export interface SignIn {
  /** The signed-in user of a request, and an unguessable value of the session for our forms. */
  readonly identify: (
    request: PlainRequest
  ) => MaybePromise<{ readonly user: Plain.User; readonly csrf: string } | undefined>
  /**
   * URL to sign in. Afterwards, send the browser back to `returnTo`, a path with query. With `login`, the application
   * wants the user to sign in again (`prompt=login`): ask for the password, also in a session.
   */
  readonly signInUrl: (returnTo: string, prompt?: "login") => string
  /** URL to which the form "use another account" posts its fields `csrf` and `return_to`. */
  readonly signOutUrl: string
}

/** What Startlist needs of a server, in any runtime. */
export interface Options extends Embedding.Options {
  /** Public URL at which Startlist is mounted: an origin, and optionally a path. A slash at its end is removed. */
  readonly url: string
  /**
   * The stores: `Memory.layer`, or `Postgres.layer({ url })` with the key that seals signing secrets,
   * `.pipe(Layer.provide(Seal.layerWith({ key })))`.
   */
  readonly stores: Layer.Layer<Stores, unknown>
  /** Calls callbacks: `Dispatcher.layer`, or `WebCallbacks.layer` without sockets. */
  readonly callbacks: Layer.Layer<Callbacks, unknown>
  /**
   * Makes tokens: `NodeSecrets.layerWith({ key })` with the key that seals signing secrets, or `NodeSecrets.layerDrawn`
   * for stores in memory. Without `node:crypto`: the layers of `WebSecrets`.
   */
  readonly secrets: Layer.Layer<Secrets, unknown>
  /** Identifies the user of the browser. The pages `consent`, `account` and `developer` need it. */
  readonly authentication?: SignIn
  /** Finds a user of your server by identifier. */
  readonly findUser: (id: number) => MaybePromise<Plain.User | undefined>
  /** Groups of endpoints to mount. Default: all. */
  readonly endpoints?: ReadonlyArray<Endpoints>
  /** Your own pages in place of ours. */
  readonly templates?: Partial<Templates.Service>
  /** Settings of the policy that differ from the documented ones. */
  readonly policy?: Partial<Policy.Service>
  /** Your platform as users know it. Default: the name Startlist. Pages show it, and no application may use its name. */
  readonly platform?: Partial<Platform.Service>
  /** Issuer in the metadata (default: `url`) and in redirects (RFC 9207), which have no `iss` without this option. */
  readonly issuer?: string
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** Your own APIs that accept access tokens of Startlist, so that clients find Startlist by their URLs (RFC 9728). */
  readonly resources?: ReadonlyArray<Resource>
  /** Time limit of requests. */
  readonly limits?: WebHttp.Options
}

/** The outcome of a check of an access token: the access, or a complete response. */
export type Checked =
  | { readonly ok: true; readonly access: Plain.Access }
  | { readonly ok: false; readonly answer: PlainResponse }

/** Startlist with promises and `fetch`. */
export interface WebStartlist extends Calls {
  /** For servers with `fetch` handlers: Hono, Next, Deno, Bun, Workers, … */
  readonly handler: WebHttp.WebHandler
  /**
   * Guards your own route. It gets Web requests with a valid token and the access of that token. All others get the
   * responses of `/api/v1/athlete`.
   */
  readonly guardHandler: (
    requirement: Guard.Requirement,
    handle: (request: Request, access: Plain.Access) => MaybePromise<Response>
  ) => (request: Request) => Promise<Response>
  /** Checks the `Authorization` header, for frameworks with their own response type. */
  readonly check: (authorization: string | undefined, requirement?: Guard.Requirement) => Promise<Checked>
  /** For a consent page of your own, mounted in place of `consent`. */
  readonly consents: Consents
  /** Stops deliveries and closes the connections of the stores, and waits for both. */
  readonly close: () => Promise<void>
}

const protocol = { oauth: Protocol.oauth, athlete: Protocol.athlete, webhooks: Protocol.webhooks }

/** The pages with their services. Loaded only if one is mounted, because they include a renderer and two languages. */
const pagesOf = async ({ templates, authentication }: Options) => {
  if (authentication === undefined) throw new TypeError("authentication is missing: the pages need it")
  const { Templates, Pages, Authentication } = await import("@startlist/pages")
  const needs = Layer.merge(
    Layer.succeed(Templates.Templates, { ...Templates.standard, ...templates }),
    Layer.succeed(Authentication.Authentication, {
      ...authentication,
      identify: (request) =>
        Effect.map(
          asked(() => authentication.identify(request)),
          (known) =>
            Option.map(Option.fromNullable(known), ({ csrf, user }) => ({ csrf, user: Convert.fromUser(user) }))
        )
    })
  )
  const provided = <A, R>(effect: Effect.Effect<A, never, R>) => Effect.provide(effect, needs)
  return {
    consent: provided(Pages.consent),
    account: provided(Pages.account),
    developer: provided(Pages.developer),
    notFound: provided(Pages.notFound)
  }
}

const all: ReadonlyArray<Endpoints> = ["oauth", "athlete", "webhooks", "consent", "account", "developer"]

const isPage = (name: Endpoints): name is "consent" | "account" | "developer" => !(name in protocol)

/** The handler of the selected endpoints. */
const mounted = async (options: Options) => {
  const { endpoints = all } = options
  const unknown = endpoints.find((name) => !all.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`endpoints: ${JSON.stringify(unknown)} is unknown; use ${all.join(", ")}`)
  }
  if (!endpoints.some(isPage)) return Mount.make(endpoints.flatMap((name) => isPage(name) ? [] : [protocol[name]]))
  const pages = await pagesOf(options)
  return Mount.make(endpoints.map((name) => isPage(name) ? pages[name] : protocol[name]), {
    notFound: pages.notFound
  })
}

const asked = <A>(ask: () => MaybePromise<A>): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({ try: async () => ask(), catch: (cause) => new StoreError({ cause }) })

const layerUsers = (findUser: Options["findUser"]): Layer.Layer<CoreUser.UserStore> =>
  Layer.succeed(CoreUser.UserStore, {
    find: (id) =>
      Effect.map(asked(() => findUser(id)), (user) => Option.map(Option.fromNullable(user), Convert.fromUser))
  })

/** An origin, and optionally a path. A quotation mark would end the value in a challenge. */
const address = /^https?:\/\/[^/?#\s"]+(?:\/[^?#\s"]*)?$/i

/** Checks the URLs of the server's own resources. */
const checkResources = (resources: ReadonlyArray<Resource>): void => {
  const wrong = resources.find(({ url }) => !address.test(url))
  if (wrong === undefined) return
  throw new TypeError(
    `resources: ${JSON.stringify(wrong.url)} must be an http or https address without query: https://club.example/mcp`
  )
}

/** Checks `url` and removes slashes at its end, which would break all paths below it. */
const placeOf = (url: string): string => {
  const place = url.replace(/(?<!\/)\/+$/, "")
  if (address.test(place)) return place
  throw new TypeError("url must be an http or https address without query: https://club.example/connect")
}

const layerOf = (options: Options) => {
  const { callbacks, findUser, issuer, platform, policy, resources = [], secrets, stores, trustedProxies = [] } =
    options
  const place = placeOf(options.url)
  checkResources(resources)
  return Embedding.layer(options).pipe(
    Layer.provideMerge(Layer.mergeAll(stores, layerUsers(findUser), callbacks, secrets)),
    Layer.provideMerge(Layer.mergeAll(
      Audit.none,
      Layer.succeed(Policy, { ...documented, ...policy }),
      Layer.succeed(Platform, { ...named("Startlist"), ...platform }),
      Layer.succeed(HttpConfig, {
        authUrl: place,
        baseUrl: place,
        issuer: Option.fromNullable(issuer),
        trustedProxies,
        operatorToken: Option.none(),
        resources
      })
    ))
  )
}

/** Services for a binding, in addition to the mounted handler. */
type Provided = Layer.Layer.Success<ReturnType<typeof layerOf>>

/** The shared part of every binding, and the result of `bind` for the mounted handler. */
export const assemble = async <Bound>(
  options: Options,
  bind: (handler: Handler) => Effect.Effect<Bound, never, Provided>
): Promise<{ readonly common: WebStartlist; readonly bound: Bound }> => {
  const runtime = ManagedRuntime.make(layerOf(options))
  const run: Binding.Run = async (effect) => {
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw new Error("Startlist could not answer: see the cause", { cause: Cause.squash(exit.cause) })
  }
  const mounting = await mounted(options)
  const made = Effect.gen(function*() {
    const handler = yield* mounting
    return {
      calls: yield* Binding.make(run),
      check: yield* Guard.make,
      consents: yield* Consent.make(run),
      guardHandler: yield* WebHttp.guard,
      handler: yield* WebHttp.handler(handler, options.limits),
      bound: yield* bind(handler)
    }
  })
  try {
    const { bound, calls, check, consents, guardHandler, handler } = await runtime.runPromise(made)
    const common: WebStartlist = {
      ...calls,
      consents,
      handler,
      guardHandler: (requirement, handle) =>
        guardHandler(requirement, (request, access) => handle(request, Convert.toAccess(access))),
      check: async (authorization, requirement) => {
        const { access, refused } = await runtime.runPromise(check({ headers: { authorization } }, requirement))
        return access === undefined ? { ok: false, answer: refused } : { ok: true, access: Convert.toAccess(access) }
      },
      close: () => runtime.dispose()
    }
    return { common, bound }
  } catch (cause) {
    await runtime.dispose()
    throw cause
  }
}

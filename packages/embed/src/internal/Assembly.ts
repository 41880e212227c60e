/** The shared parts of `Startlist.make` and `WebStartlist.make`: everything except the binding to `node:http`. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Audit from "@startlist/core/Audit"
import type { Callbacks } from "@startlist/core/Callbacks"
import { Platform } from "@startlist/core/Platform"
import { Policy } from "@startlist/core/Policy"
import type { Secrets } from "@startlist/core/Secrets"
import type { Stores } from "@startlist/core/Services"
import * as CoreUser from "@startlist/core/User"
import * as Embedding from "@startlist/http/Embedding"
import * as FailureLimit from "@startlist/http/FailureLimit"
import * as Guard from "@startlist/http/Guard"
import type { Handler } from "@startlist/http/Http"
import { HttpConfig } from "@startlist/http/HttpConfig"
import { layerWith as layerChecks } from "@startlist/http/ImportedSecrets"
import * as Mount from "@startlist/http/Mount"
import * as Protocol from "@startlist/http/Protocol"
import * as WebHttp from "@startlist/http/WebHttp"
import * as Binding from "./Binding.ts"
import * as Consent from "./Consents.ts"
import { callable, demand, value } from "./Check.ts"
import * as Checks from "./Checks.ts"
import * as Convert from "./Convert.ts"
import * as Draining from "./Draining.ts"
import * as Failure from "./Failure.ts"
import * as Given from "./Given.ts"
import * as Log from "./Log.ts"
import type { Endpoints, ImportedSecrets, Requirement, WebOptions, WebStartlist } from "./Options.ts"

/** The layers that differ between runtimes. */
export interface Parts {
  readonly stores: Layer.Layer<Stores, unknown>
  readonly callbacks: Layer.Layer<Callbacks, unknown>
  readonly secrets: Layer.Layer<Secrets, unknown>
}

const protocol = { oauth: Protocol.oauth, athlete: Protocol.athlete, webhooks: Protocol.webhooks }

/** The pages with their services. Loaded only if one is mounted, because they include a renderer and two languages. */
const pagesOf = async ({ authentication, platform, templates }: WebOptions) => {
  if (authentication === undefined) throw new TypeError("authentication is missing: the pages need it")
  const { make } = await import("./OwnPages.ts")
  return make(authentication, templates, platform)
}

const all: ReadonlyArray<Endpoints> = ["oauth", "athlete", "webhooks", "consent", "account", "developer"]

const isPage = (name: Endpoints): name is "consent" | "account" | "developer" => !(name in protocol)

/** The handler of the selected endpoints. */
const mounted = async (options: WebOptions) => {
  const { endpoints = all } = options
  if (!endpoints.some(isPage)) return Mount.make(endpoints.flatMap((name) => isPage(name) ? [] : [protocol[name]]))
  const pages = await pagesOf(options)
  return Mount.make(endpoints.map((name) => isPage(name) ? pages[name] : protocol[name]), {
    notFound: pages.notFound
  })
}

const layerUsers = (findUser: WebOptions["findUser"]): Layer.Layer<CoreUser.UserStore> =>
  Layer.succeed(CoreUser.UserStore, {
    find: (id) =>
      Effect.map(
        Failure.asked("findUser", () => findUser(id)),
        (found) =>
          Option.map(Option.fromNullable(found), (user) => {
            demand(value(`the user ${id}`, () => user.id === id), user, "findUser()")
            return Convert.fromUser(user, "findUser()")
          })
      )
  })

/** The checks of imported secrets, with the counters of failures that the endpoints have. */
const layerImportedSecrets = ({ accepts, matches }: ImportedSecrets) =>
  Layer.provide(
    layerChecks({
      problem: (hash) => accepts(hash) ? Option.none() : Option.some("it is not of a format that this server accepts"),
      matches: async (hash, secret) => matches(hash, secret)
    }),
    FailureLimit.layerMemory
  )

const layerOf = (options: WebOptions, { callbacks, secrets, stores }: Parts) => {
  const { findUser, importedSecrets, issuer, trustedProxies = [] } = options
  const place = Given.place(options.url)
  return Embedding.layer(options).pipe(
    Layer.provideMerge(Layer.mergeAll(stores, layerUsers(findUser), callbacks, secrets)),
    Layer.provideMerge(Layer.mergeAll(
      Audit.none,
      importedSecrets === undefined ? Layer.empty : layerImportedSecrets(importedSecrets),
      Layer.succeed(Policy, Given.policy(options.policy)),
      Layer.succeed(Platform, Given.platform(options.platform)),
      Layer.succeed(HttpConfig, {
        authUrl: place,
        baseUrl: place,
        issuer: Option.fromNullable(issuer),
        trustedProxies,
        operatorToken: Option.none(),
        resources: options.resources ?? []
      })
    )),
    Layer.provideMerge(Log.layer(options.log))
  )
}

/** Services for a binding, in addition to the mounted handler. */
type Provided = Layer.Layer.Success<ReturnType<typeof layerOf>>

/** The time limit of requests, for a binding. */
export const timeoutOf = ({ limits: { timeout } = {} }: WebOptions): WebHttp.Options =>
  timeout === undefined ? {} : { timeout }

/** Startlist, and what a binding adds to it. */
interface Assembled<Bound> {
  readonly common: WebStartlist
  readonly bound: Bound
  /** Checks a requirement before a route is guarded by it: a wrong one must not let every token pass. */
  readonly checked: (requirement: Requirement, handle: unknown) => Requirement
}

/** The shared part of every binding, and the result of `bind` for the mounted handler and the check of tokens. */
export const assemble = async <Bound>(
  options: WebOptions,
  parts: Parts,
  bind: (handler: Handler, check: Guard.Check) => Effect.Effect<Bound, never, Provided>
): Promise<Assembled<Bound>> => {
  const runtime = ManagedRuntime.make(layerOf(options, parts))
  const draining = Draining.make()
  const run = Draining.runner(draining, runtime)
  const checkRequirement = Checks.requirement(options.resources)
  const checked = (requirement: Requirement, handle: unknown): Requirement => {
    demand(checkRequirement, requirement, "requirement")
    demand(callable, handle, "handle")
    return requirement
  }
  const mounting = await mounted(options)
  const made = Effect.gen(function*() {
    const handler = Draining.handler(yield* mounting, draining)
    const check = Draining.check(yield* Guard.make, draining)
    return {
      calls: yield* Binding.make(run),
      check,
      consents: yield* Consent.make(run),
      guardHandler: yield* WebHttp.guardWith(check),
      handler: yield* WebHttp.handler(handler, timeoutOf(options)),
      bound: yield* bind(handler, check)
    }
  })
  const exit = await runtime.runPromiseExit(made)
  if (Exit.isFailure(exit)) {
    await runtime.dispose()
    throw Failure.toError(exit.cause)
  }
  const { bound, calls, check, consents, guardHandler, handler } = exit.value
  const common: WebStartlist = {
    ...calls,
    consents,
    handler,
    guardHandler: (requirement, handle) =>
      guardHandler(checked(requirement, handle), (request, access) => handle(request, Convert.toAccess(access))),
    check: async (authorization, requirement = {}) => {
      demand(checkRequirement, requirement, "requirement")
      const { access, refused } = await run(check({ headers: { authorization } }, requirement))
      return access === undefined ? { ok: false, answer: refused } : { ok: true, access: Convert.toAccess(access) }
    },
    close: async () => {
      await draining.drain(Duration.toMillis(options.limits?.timeout ?? "30 seconds"))
      await runtime.dispose()
    }
  }
  return { common, bound, checked }
}

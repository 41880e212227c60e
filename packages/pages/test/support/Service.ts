/** A whole service in memory with a scripted environment: callbacks, passwords, the audit trail, a store that fails. */
import { Audit, Callbacks, Memory, Platform, Policy, Secrets, Services, Store, User } from "@startlist/core"
import { ApplicationStore } from "@startlist/core/Application"
import { GrantStore } from "@startlist/core/Grant"
import { SubscriptionStore } from "@startlist/core/Subscription"
import { FailureLimit, Http, HttpConfig, Mount, Protocol } from "@startlist/http"
import { Pages, Sessions } from "@startlist/pages"
import { Context, Effect, Layer, Option } from "effect"
import * as TestSecrets from "@startlist/testing/TestSecrets"
import * as TestUsers from "@startlist/testing/TestUsers"
import { TestAccounts } from "@startlist/test-support/TestAccounts"

export interface Options {
  readonly policy?: Partial<Policy.Policy.Service>
  readonly config?: Partial<HttpConfig.HttpConfig.Service>
  readonly platform?: Partial<Platform.Platform.Service>
  /** Predictable ones unless said otherwise. */
  readonly secrets?: Layer.Layer<Secrets.Secrets>
}

/** Switches of a test for a running service. */
export interface Switches {
  /** Answers every validation request. */
  validate: (validation: Callbacks.Validation) => Effect.Effect<Callbacks.Answer>
  /** Every store fails. */
  storeIsDown: boolean
  /** Effect that a store runs after a method and before its answer. */
  afterStore: (method: string) => Effect.Effect<void>
}

export interface Sent {
  readonly headers?: Http.Request["headers"]
  readonly body?: string | Uint8Array
  readonly address?: string
}

/** The service under test. */
export class Service extends Context.Tag("test/Service")<Service, {
  readonly switches: Switches
  readonly audit: ReadonlyArray<Audit.Acted>
  readonly validations: ReadonlyArray<Callbacks.Validation>
  /** Sends a request; `target` is path and query. */
  readonly send: (method: string, target: string, sent?: Sent) => Effect.Effect<Http.Response>
}>() {}

/** A callback that answers the challenge. */
export const answers = ({ challenge }: Pick<Callbacks.Validation, "challenge">): Effect.Effect<Callbacks.Answer> =>
  Effect.succeed(answered({ body: JSON.stringify({ "hub.challenge": challenge }) }))

/** An answer to a validation request. Default: 200, JSON, immediately. */
export const answered = (
  answer: { readonly body: string; readonly status?: number; readonly contentType?: string }
): Callbacks.Answer =>
  Callbacks.Answer.Answered({
    afterMs: 1,
    status: 200,
    contentType: "application/json",
    retryAfter: Option.none(),
    ...answer
  })

/** The same store, failing while the switch is on. */
const breakable = <S extends object>(store: S, switches: Switches): S =>
  new Proxy(store, {
    get: (target, key, receiver) => {
      const method: unknown = Reflect.get(target, key, receiver)
      return typeof method !== "function" ?
        method :
        (...parameters: ReadonlyArray<unknown>) =>
          Effect.suspend(() =>
            switches.storeIsDown
              ? Effect.fail(new Store.StoreError({ cause: "down" }))
              : Effect.tap(Reflect.apply(method, target, parameters), () => switches.afterStore(String(key)))
          )
    }
  })

const breakableStores = (switches: Switches) =>
  Layer.mergeAll(
    Layer.effect(GrantStore, Effect.map(GrantStore, (store) => breakable(store, switches))),
    Layer.effect(ApplicationStore, Effect.map(ApplicationStore, (store) => breakable(store, switches))),
    Layer.effect(SubscriptionStore, Effect.map(SubscriptionStore, (store) => breakable(store, switches))),
    Layer.effect(User.UserStore, Effect.map(User.UserStore, (store) => breakable(store, switches)))
  )

/** The service and everything that it is made of, so that tests can look inside. */
export const layer = (options: Options = {}) => {
  const switches: Switches = { validate: answers, storeIsDown: false, afterStore: () => Effect.void }
  const validations: Array<Callbacks.Validation> = []
  const audit: Array<Audit.Acted> = []

  const callbacks = Layer.succeed(Callbacks.Callbacks, {
    problem: (url) => /^https?:\/\/[\w.-]+(?:[:/?].*)?$/.test(url) ? Option.none() : Option.some("invalid"),
    validate: (validation) =>
      Effect.suspend(() => {
        validations.push(validation)
        return switches.validate(validation)
      }),
    deliver: () => Effect.succeed(answered({ body: "" }))
  })

  const service = Layer.effect(
    Service,
    Effect.gen(function*() {
      const handler = yield* Mount.make([Protocol.routes, Pages.routes, Pages.signIn], { notFound: Pages.notFound })
      return {
        switches,
        audit,
        validations,
        send: (method, target, sent = {}) => {
          const mark = target.indexOf("?")
          return handler({
            method,
            path: mark < 0 ? target : target.slice(0, mark),
            query: mark < 0 ? "" : target.slice(mark + 1),
            headers: sent.headers ?? {},
            body: typeof sent.body === "string" ? new TextEncoder().encode(sent.body) : sent.body ?? new Uint8Array(),
            address: sent.address ?? "192.0.2.1"
          })
        }
      }
    })
  )

  return service.pipe(
    Layer.provideMerge(Sessions.layer),
    Layer.provideMerge(Services.layer),
    Layer.provideMerge(TestAccounts.layer),
    Layer.provideMerge(FailureLimit.layerMemory),
    Layer.provideMerge(breakableStores(switches)),
    Layer.provideMerge(
      Layer.mergeAll(Memory.layer, TestUsers.layer, options.secrets ?? TestSecrets.layer("test"), callbacks)
    ),
    Layer.provide(Layer.succeed(Policy.Policy, { ...Policy.documented, ...options.policy })),
    Layer.provide(Layer.succeed(Platform.Platform, { ...Platform.named("Startlist"), ...options.platform })),
    Layer.provideMerge(Layer.succeed(HttpConfig.HttpConfig, { ...HttpConfig.local, ...options.config })),
    Layer.provideMerge(
      Layer.succeed(Audit.Audit, {
        record: (entry) => Effect.sync(() => void (entry._tag === "Acted" && audit.push(entry)))
      })
    )
  )
}

/** Registration, changes and authentication of applications. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Application from "./Application.ts"
import * as ApplicationName from "./ApplicationName.ts"
import {
  type ApplicationId,
  ApplicationNotFound,
  ApplicationStore,
  InvalidApplication,
  Settings
} from "./Application.ts"
import * as ApplicationSecret from "./ApplicationSecret.ts"
import { first, type Lifetime, replace, type SecretRefused } from "./ApplicationSecret.ts"
import { type ClientCredentials, makeWithClient } from "./Client.ts"
import { PersonStore } from "./PersonalData.ts"
import { Platform } from "./Platform.ts"
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { changing, type Conflict, foundOr, type StoreError } from "./Store.ts"
import { SubscriptionStore } from "./Subscription.ts"
import { type UserId, UserStore } from "./User.ts"

/** An application and its secret in clear, which is not stored. */
export interface Registered {
  readonly application: Application.Application
  readonly secret: Redacted.Redacted<string>
}

/** A new application. `signingSecret` can be shown again. */
export interface Created extends Registered {
  readonly signingSecret: Redacted.Redacted<string>
}

/** How to replace a secret. */
export interface Rotation {
  /** Time for which the current secret stays valid. 0 ends all others. Default: the policy's. */
  readonly overlap?: Duration.Duration | undefined
  /** Number that the new secret must get. Otherwise the replacement is refused as `outdated`. Default: the next one. */
  readonly number?: number | undefined
  /** The new client secret. Default: a random one. */
  readonly secret?: Redacted.Redacted<string> | undefined
}

/**
 * Registers, changes and ends applications.
 * @example
 * ```ts
 * import { Applications, type User } from "@startlist/core"
 * import { Effect } from "effect"
 * export const register = (ownerId: User.UserId) =>
 *   Effect.flatMap(Applications.Applications, (applications) =>
 *     applications.create(ownerId, { name: "Race Day", redirectUris: [], requirePkce: true }))
 * ```
 */
export class Applications extends Context.Tag("@startlist/core/Applications")<Applications, Applications.Service>() {}

export declare namespace Applications {
  /** Returns the record after the operation. */
  export type Present<A = Application.Application> = Effect.Effect<A, ApplicationNotFound | StoreError>

  /** Returns it after a change of the secrets. */
  export type Changed<A> = Effect.Effect<A, ApplicationNotFound | SecretRefused | StoreError>

  export interface Service extends Pick<ApplicationStore.Service, "list"> {
    /** Registers an application of a platform user. With the `secret` of an earlier registration: `Conflict`. */
    readonly create: (
      ownerId: UserId,
      settings: Settings,
      secret?: Redacted.Redacted<string>
    ) => Effect.Effect<Created, InvalidApplication | Conflict | StoreError>
    /** Changes the settings that are given. */
    readonly change: (
      id: ApplicationId,
      settings: Application.Change
    ) => Effect.Effect<Application.Application, InvalidApplication | ApplicationNotFound | StoreError>
    /** Makes a new client secret beside the others (law 15). */
    readonly rotateSecret: (id: ApplicationId, rotation?: Rotation) => Changed<Registered>
    /** Ends a replaced client secret before its time. */
    readonly endSecret: (id: ApplicationId, number: number) => Changed<Application.Application>
    /** Returns the secrets that sign the application's events. */
    readonly signingSecrets: (id: ApplicationId) => Present<Application.SigningSecrets>
    /** Makes a new signing secret beside the others, which also sign until they end. */
    readonly rotateSigningSecret: (id: ApplicationId, rotation?: Rotation) => Changed<Application.SigningSecrets>
    /** Ends a replaced signing secret before its time. */
    readonly endSigningSecret: (id: ApplicationId, number: number) => Changed<Application.SigningSecrets>
    /** Finds an application that has not ended. */
    readonly find: (id: ApplicationId) => Present
    /** Law 14: after this returns, the application gets no token, no answer and no new attempt. */
    readonly suspend: (id: ApplicationId) => Present
    /** Restores a suspended application. Events that waited are delivered. */
    readonly restore: (id: ApplicationId) => Present
    /** Limits the requests of the application in a minute, or removes the limit. The HTTP layer counts the requests. */
    readonly limitRequests: (id: ApplicationId, perMinute: Option.Option<number>) => Present
    /** Revokes every grant of the application in one save, without events. */
    readonly revokeAll: (id: ApplicationId) => Present
    /** Ends the application, its grants and its subscription. */
    readonly end: (id: ApplicationId) => Effect.Effect<void, ApplicationNotFound | StoreError>
    /** Returns the application of these credentials. */
    readonly authenticate: <E = never>(
      credentials: ClientCredentials<E>
    ) => Effect.Effect<Application.Application, Application.InvalidClient | StoreError | E>
  }
}

const make = Effect.gen(function*() {
  const store = yield* ApplicationStore
  const subscriptions = yield* SubscriptionStore
  const users = yield* UserStore
  const persons = yield* PersonStore
  const secrets = yield* Secrets
  const platform = yield* Platform
  const policy = yield* Policy
  const withClient = yield* makeWithClient

  const find = (id: ApplicationId) =>
    foundOr(
      Effect.map(store.find(id), Option.filter(({ state }) => state !== "ended")),
      () => new ApplicationNotFound({ applicationId: id })
    )

  const decide = (id: ApplicationId, decision: (present: Application.Application) => Application.Application) =>
    changing(find(id), store.save, (present) => Effect.succeed(decision(present)))

  const checkName = (name: string) => {
    const problem = Schema.is(Settings.fields.name)(name)
      ? ApplicationName.problemOf(name, platform.name)
      : Option.some("must have 1 to 100 characters, and no space around them")
    return Option.isNone(problem)
      ? Effect.void
      : new InvalidApplication({ field: "name", message: `the name ${problem.value}` })
  }

  const noOwner = new InvalidApplication({ field: "owner_id", message: "the owner must be a platform user" })

  const checkOwner = Effect.fnUntraced(function*(ownerId: UserId) {
    const owner = yield* users.find(ownerId)
    if (!Option.exists(owner, ({ role }) => role === "platform") || (yield* persons.isErased(ownerId))) {
      return yield* noOwner
    }
  })

  const create: Applications.Service["create"] = Effect.fn("Applications.create")(function*(ownerId, settings, given) {
    yield* checkName(settings.name)
    yield* Application.checkRedirectUris(settings.redirectUris)
    yield* Application.checkLinks(settings.links)
    yield* checkOwner(ownerId)
    const secret = given ?? (yield* secrets.make("client"))
    const signingSecret = yield* secrets.makeSigning
    const application = yield* store.insert({
      ...settings,
      links: Application.mergeLinks(settings.links),
      ownerId,
      secrets: [{ ...first, hash: secrets.hash(Redacted.value(secret)) }],
      createdAt: yield* DateTime.now
    }, signingSecret).pipe(Effect.catchTag("@startlist/core/UserErased", () => noOwner))
    return { application, secret, signingSecret }
  })

  const change = Effect.fn("Applications.change")(function*(id: ApplicationId, settings: Application.Change) {
    if (settings.name !== undefined) yield* checkName(settings.name)
    if (settings.redirectUris !== undefined) yield* Application.checkRedirectUris(settings.redirectUris)
    yield* Application.checkLinks(settings.links)
    // Each time: the save conflicts with an erasure of the new owner.
    const checked = settings.ownerId === undefined ? Effect.void : checkOwner(settings.ownerId)
    return yield* changing(find(id), store.save, (present) => Effect.as(checked, Application.change(present, settings)))
  })

  const suspend = Effect.fn("Applications.suspend")((id: ApplicationId) =>
    decide(id, Application.setState("suspended"))
  )
  const restore = Effect.fn("Applications.restore")((id: ApplicationId) => decide(id, Application.setState("active")))
  const limitRequests = Effect.fn("Applications.limitRequests")(
    (id: ApplicationId, perMinute: Option.Option<number>) => decide(id, Application.limitRequests(perMinute))
  )
  const revokeAll = Effect.fn("Applications.revokeAll")((id: ApplicationId) => decide(id, Application.revokeAll))

  const removeSubscription = Effect.fnUntraced(function*(id: ApplicationId) {
    const subscription = yield* subscriptions.findByApplication(id)
    if (Option.isSome(subscription)) yield* subscriptions.remove(subscription.value.id, yield* DateTime.now)
  })

  // The second removal is for a subscription that was inserted before the application ended.
  const end = Effect.fn("Applications.end")(function*(id: ApplicationId) {
    yield* removeSubscription(id)
    yield* decide(id, Application.end)
    yield* removeSubscription(id)
  })

  const rotateSecret = Effect.fn("Applications.rotateSecret")(
    function*(id: ApplicationId, { number, overlap = policy.secretOverlap, secret: given }: Rotation = {}) {
      const secret = given ?? (yield* secrets.make("client"))
      const hash = secrets.hash(Redacted.value(secret))
      const make = (lifetime: Lifetime) => ({ ...lifetime, hash })
      const application = yield* changing(find(id), store.save, replace(make, overlap, number))
      return { application, secret }
    }
  )

  const signingSecrets = (id: ApplicationId) =>
    Effect.zipRight(
      find(id),
      foundOr(store.findSigningSecrets(id), () => new ApplicationNotFound({ applicationId: id }))
    )

  const rotateSigningSecret = Effect.fn("Applications.rotateSigningSecret")(
    function*(id: ApplicationId, { number, overlap = policy.secretOverlap }: Rotation = {}) {
      const value = yield* secrets.makeSigning
      const make = (lifetime: Lifetime) => ({ ...lifetime, value })
      return yield* changing(signingSecrets(id), store.saveSigningSecrets, replace(make, overlap, number))
    }
  )

  const authenticate: Applications.Service["authenticate"] = Effect.fn("Applications.authenticate")(
    <E>(client: ClientCredentials<E>) =>
      Effect.flatMap(DateTime.now, (now) => withClient(client, now, (application) => Effect.succeed(application)))
  )

  return Applications.of({
    authenticate,
    change,
    create,
    end,
    endSecret: (id, number) => changing(find(id), store.save, ApplicationSecret.end(number)),
    endSigningSecret: (id, number) =>
      changing(signingSecrets(id), store.saveSigningSecrets, ApplicationSecret.end(number)),
    find,
    limitRequests,
    list: store.list,
    restore,
    revokeAll,
    rotateSecret,
    rotateSigningSecret,
    signingSecrets,
    suspend
  })
})

/** The service over its ports. */
export const layer = Layer.effect(Applications, make)

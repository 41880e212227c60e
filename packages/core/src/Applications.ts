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
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { Conflict, foundOr, type StoreError, untilSaved } from "./Store.ts"
import { SubscriptionStore } from "./Subscription.ts"
import { type UserId, UserStore } from "./User.ts"

/** Identifier and secret of a client. */
export interface ClientCredentials {
  readonly id: ApplicationId
  readonly secret: Redacted.Redacted<string>
}

/** An application and its secret in clear, which is not stored. */
export interface Registered {
  readonly application: Application.Application
  readonly secret: Redacted.Redacted<string>
}

/** A new application. `signingSecret` can be shown again. */
export interface Created extends Registered {
  readonly signingSecret: Redacted.Redacted<string>
}

export class Applications extends Context.Tag("@startlist/core/Applications")<Applications, Applications.Service>() {}

export declare namespace Applications {
  /** Returns the application after the operation. */
  export type Present = Effect.Effect<Application.Application, ApplicationNotFound | StoreError>

  export interface Service {
    /** Registers an application of a platform user. */
    readonly create: (
      ownerId: UserId,
      settings: Settings
    ) => Effect.Effect<Created, InvalidApplication | StoreError>
    readonly change: (
      id: ApplicationId,
      settings: Application.Change
    ) => Effect.Effect<Application.Application, InvalidApplication | ApplicationNotFound | StoreError>
    /**
     * Makes a new secret. The current one stays valid for `overlap` (default: the policy's). With `version`, fails with
     * `Conflict` at another version: a form that is sent twice must not end the secret in use.
     */
    readonly rotateSecret: (
      id: ApplicationId,
      options?: { readonly overlap?: Duration.Duration | undefined; readonly version?: number | undefined }
    ) => Effect.Effect<Registered, ApplicationNotFound | Conflict | StoreError>
    /** Returns the secrets that sign the application's events. */
    readonly signingSecrets: (
      id: ApplicationId
    ) => Effect.Effect<Application.SigningSecrets, ApplicationNotFound | StoreError>
    /**
     * Makes a new signing secret. The current one also signs until the policy's overlap ends. With `version`, fails
     * with `Conflict` at another version: a form that is sent twice must not rotate twice.
     */
    readonly rotateSigningSecret: (
      id: ApplicationId,
      version?: number
    ) => Effect.Effect<Application.SigningSecrets, ApplicationNotFound | Conflict | StoreError>
    /** Finds an application that has not ended. */
    readonly find: (id: ApplicationId) => Present
    /** Law 14: after this returns, the application gets no token, no answer and no new attempt. */
    readonly suspend: (id: ApplicationId) => Present
    /** Restores a suspended application. Events that waited are delivered. */
    readonly restore: (id: ApplicationId) => Present
    /** Revokes every grant of the application in one save, without events. */
    readonly revokeAll: (id: ApplicationId) => Present
    /** Ends the application, its grants and its subscription. */
    readonly end: (id: ApplicationId) => Effect.Effect<void, ApplicationNotFound | StoreError>
    readonly list: ApplicationStore.Service["list"]
    /** Returns the application of these credentials. */
    readonly authenticate: (
      credentials: ClientCredentials
    ) => Effect.Effect<Application.Application, Application.InvalidClient | StoreError>
  }
}

const make = Effect.gen(function*() {
  const store = yield* ApplicationStore
  const subscriptions = yield* SubscriptionStore
  const users = yield* UserStore
  const secrets = yield* Secrets
  const policy = yield* Policy

  const find = (id: ApplicationId) =>
    foundOr(
      Effect.map(store.find(id), Option.filter(({ state }) => state !== "ended")),
      () => new ApplicationNotFound({ applicationId: id })
    )

  /** Finds, decides, and saves a change. */
  const decide = (
    id: ApplicationId,
    decision: (present: Application.Application) => Application.Application
  ): Applications.Present =>
    untilSaved(Effect.flatMap(find(id), (present) => {
      const next = decision(present)
      return next === present ? Effect.succeed(present) : Effect.as(store.save(next), next)
    }))

  /** Decides again after a conflict. With `version`, decides only at that version. */
  const overVersion = <A extends { readonly version: number }, B, E>(
    present: Effect.Effect<A, E>,
    version: number | undefined,
    save: (present: A) => Effect.Effect<B, Conflict | StoreError>
  ): Effect.Effect<B, E | Conflict | StoreError> => {
    const isWanted = (found: A) => version === undefined || found.version === version
    const attempt = Effect.flatMap(Effect.filterOrFail(present, isWanted, () => new Conflict()), save)
    return version === undefined ? untilSaved(attempt) : attempt
  }

  const checkName = (name: string) => {
    const problem = Schema.is(Settings.fields.name)(name)
      ? ApplicationName.problemOf(name, policy.platformNames)
      : Option.some("must have 1 to 100 characters, and no space around them")
    return Option.isNone(problem)
      ? Effect.void
      : new InvalidApplication({ field: "name", message: `the name ${problem.value}` })
  }

  const checkOwner = (ownerId: UserId) =>
    Effect.flatMap(users.find(ownerId), (owner) =>
      Option.exists(owner, ({ role }) => role === "platform")
        ? Effect.void
        : new InvalidApplication({ field: "owner_id", message: "the owner must be a platform user" }))

  const create = Effect.fn("Applications.create")(function*(ownerId: UserId, settings: Settings) {
    yield* checkName(settings.name)
    yield* Application.checkRedirectUris(settings.redirectUris)
    yield* Application.checkLinks(settings.links)
    yield* checkOwner(ownerId)
    const secret = yield* secrets.make("client")
    const signingSecret = yield* secrets.makeSigning
    const application = yield* store.insert({
      ...settings,
      links: Application.mergeLinks(settings.links),
      ownerId,
      secrets: [{ hash: secrets.hash(Redacted.value(secret)), expiresAt: Option.none() }],
      createdAt: yield* DateTime.now
    }, signingSecret)
    return { application, secret, signingSecret }
  })

  const change = Effect.fn("Applications.change")(
    function*(id: ApplicationId, settings: Application.Change) {
      if (settings.name !== undefined) yield* checkName(settings.name)
      if (settings.redirectUris !== undefined) yield* Application.checkRedirectUris(settings.redirectUris)
      yield* Application.checkLinks(settings.links)
      if (settings.ownerId !== undefined) yield* checkOwner(settings.ownerId)
      return yield* decide(id, (present) => Application.change(present, settings))
    }
  )

  const suspend = Effect.fn("Applications.suspend")((id: ApplicationId) =>
    decide(id, (present) => Application.setState(present, "suspended"))
  )

  const restore = Effect.fn("Applications.restore")((id: ApplicationId) =>
    decide(id, (present) => Application.setState(present, "active"))
  )

  const revokeAll = Effect.fn("Applications.revokeAll")((id: ApplicationId) => decide(id, Application.revokeAll))

  const removeSubscription = Effect.fnUntraced(function*(id: ApplicationId) {
    const subscription = yield* subscriptions.findByApplication(id)
    if (Option.isSome(subscription)) yield* subscriptions.remove(subscription.value.id, yield* DateTime.now)
  })

  // After a failure half-way, the owner can end the application again. The second removal is for a subscription that was
  // inserted before the application ended.
  const end = Effect.fn("Applications.end")(function*(id: ApplicationId) {
    yield* removeSubscription(id)
    yield* decide(id, Application.end)
    yield* removeSubscription(id)
  })

  const rotateSecret: Applications.Service["rotateSecret"] = Effect.fn("Applications.rotateSecret")(
    (id, { overlap = policy.secretOverlap, version } = {}) =>
      overVersion(
        find(id),
        version,
        Effect.fnUntraced(function*(present) {
          const secret = yield* secrets.make("client")
          const overlapEnds = DateTime.addDuration(yield* DateTime.now, overlap)
          const application = Application.rotateSecret(present, secrets.hash(Redacted.value(secret)), overlapEnds)
          yield* store.save(application)
          return { application, secret }
        })
      )
  )

  const signingSecrets = (id: ApplicationId) =>
    Effect.zipRight(
      find(id),
      foundOr(store.findSigningSecrets(id), () => new ApplicationNotFound({ applicationId: id }))
    )

  const rotateSigningSecret = Effect.fn("Applications.rotateSigningSecret")((id: ApplicationId, version?: number) =>
    overVersion(
      signingSecrets(id),
      version,
      Effect.fnUntraced(function*(present) {
        const overlapEnds = DateTime.addDuration(yield* DateTime.now, policy.secretOverlap)
        const next = Application.rotateSigningSecret(present, yield* secrets.makeSigning, overlapEnds)
        yield* store.saveSigningSecrets(next)
        return next
      })
    )
  )

  const authenticate = Effect.fn("Applications.authenticate")(function*({ id, secret }: ClientCredentials) {
    const found = yield* store.find(id)
    return yield* Application.authenticate(found, secrets.hash(Redacted.value(secret)), yield* DateTime.now)
  })

  return Applications.of({
    authenticate,
    change,
    create,
    end,
    find,
    list: store.list,
    restore,
    revokeAll,
    rotateSecret,
    rotateSigningSecret,
    signingSecrets,
    suspend
  })
})

export const layer: Layer.Layer<
  Applications,
  never,
  ApplicationStore | SubscriptionStore | UserStore | Secrets
> = Layer.effect(Applications, make)

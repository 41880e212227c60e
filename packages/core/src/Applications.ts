/** Registering applications and authenticating them. */
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
import { ApplicationNotFound, ApplicationStore, InvalidApplication, Settings } from "./Application.ts"
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { Conflict, type StoreError, untilSaved } from "./Store.ts"
import { SubscriptionStore } from "./Subscription.ts"
import { type UserId, UserStore } from "./User.ts"

/** How a client names and proves itself. */
export interface ClientCredentials {
  readonly id: Application.ApplicationId
  readonly secret: Redacted.Redacted<string>
}

/** An application and its secret in clear, at the only moment at which that exists. */
export interface Registered {
  readonly application: Application.Application
  readonly secret: Redacted.Redacted<string>
}

/** A new application; `signingSecret` can be shown again. */
export interface Created extends Registered {
  readonly signingSecret: Redacted.Redacted<string>
}

export class Applications extends Context.Tag("@startlist/core/Applications")<Applications, Applications.Service>() {}

export declare namespace Applications {
  export interface Service {
    /** Registers an application of a platform user. */
    readonly create: (
      ownerId: UserId,
      settings: Settings
    ) => Effect.Effect<Created, InvalidApplication | StoreError>
    readonly change: (
      id: Application.ApplicationId,
      settings: Application.Change
    ) => Effect.Effect<Application.Application, InvalidApplication | ApplicationNotFound | StoreError>
    /** A new secret; the present one stays good for `overlap` (default: the policy's). */
    readonly rotateSecret: (
      id: Application.ApplicationId,
      overlap: Option.Option<Duration.Duration>
    ) => Effect.Effect<Registered, ApplicationNotFound | StoreError>
    /**
     * The same over exactly this version of the application, once: a form that is sent twice must not end the secret
     * that is in use. `Conflict` if the application was changed since.
     */
    readonly rotateSecretOnce: (
      application: Application.Application,
      overlap: Option.Option<Duration.Duration>
    ) => Effect.Effect<Registered, Conflict | StoreError>
    /** What signs the application's events. */
    readonly signingSecrets: (
      id: Application.ApplicationId
    ) => Effect.Effect<Application.SigningSecrets, ApplicationNotFound | StoreError>
    /**
     * A new signing secret; the present one signs too until the policy's overlap ends. With `version`, only over that
     * version: a form that is sent twice must not rotate twice. `Conflict` if they were changed since.
     */
    readonly rotateSigningSecret: (
      id: Application.ApplicationId,
      version?: number
    ) => Effect.Effect<Application.SigningSecrets, ApplicationNotFound | Conflict | StoreError>
    /** An application that has ended is not found. */
    readonly find: (
      id: Application.ApplicationId
    ) => Effect.Effect<Application.Application, ApplicationNotFound | StoreError>
    /** Law 14: once this has returned, the application gets no token, no answer, and no event that is not being sent. */
    readonly suspend: (
      id: Application.ApplicationId
    ) => Effect.Effect<Application.Application, ApplicationNotFound | StoreError>
    /** The application goes on where it was suspended. Events that waited are delivered. */
    readonly restore: (
      id: Application.ApplicationId
    ) => Effect.Effect<Application.Application, ApplicationNotFound | StoreError>
    /** Revokes every grant of the application, in one save of the application alone. No user is named in an event. */
    readonly revokeAll: (
      id: Application.ApplicationId
    ) => Effect.Effect<Application.Application, ApplicationNotFound | StoreError>
    /** Ends the application for good, with its grants and its subscription. */
    readonly end: (id: Application.ApplicationId) => Effect.Effect<void, ApplicationNotFound | StoreError>
    readonly list: ApplicationStore.Service["list"]
    /** The application that these credentials belong to. */
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

  const find = (id: Application.ApplicationId) =>
    Effect.flatMap(
      store.find(id),
      Option.match({
        onNone: () => new ApplicationNotFound({ applicationId: id }),
        onSome: (found) =>
          found.state === "ended" ? new ApplicationNotFound({ applicationId: id }) : Effect.succeed(found)
      })
    )

  /** Finds, decides and saves. Where there is nothing to change, the present one is the answer. */
  const decide = (
    id: Application.ApplicationId,
    decision: (present: Application.Application) => Option.Option<Application.Application>
  ) =>
    untilSaved(Effect.flatMap(find(id), (present) =>
      Option.match(decision(present), {
        onNone: () => Effect.succeed(present),
        onSome: (next) => Effect.as(store.save(next), next)
      })))

  const checkName = (name: string) =>
    Option.match(
      Schema.is(Settings.fields.name)(name)
        ? ApplicationName.problemOf(name, policy.platformNames)
        : Option.some("must have 1 to 100 characters, and no space around them"),
      {
        onNone: () => Effect.void,
        onSome: (problem) => new InvalidApplication({ field: "name", message: `the name ${problem}` })
      }
    )

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
    function*(id: Application.ApplicationId, settings: Application.Change) {
      if (settings.name !== undefined) yield* checkName(settings.name)
      if (settings.redirectUris !== undefined) yield* Application.checkRedirectUris(settings.redirectUris)
      yield* Application.checkLinks(settings.links)
      if (settings.ownerId !== undefined) yield* checkOwner(settings.ownerId)
      const next = Application.change(yield* find(id), settings)
      yield* store.save(next)
      return next
    },
    untilSaved
  )

  const suspend = Effect.fn("Applications.suspend")((id: Application.ApplicationId) =>
    decide(id, (present) => Application.setState(present, "suspended"))
  )

  const restore = Effect.fn("Applications.restore")((id: Application.ApplicationId) =>
    decide(id, (present) => Application.setState(present, "active"))
  )

  const revokeAll = Effect.fn("Applications.revokeAll")((id: Application.ApplicationId) =>
    decide(id, (present) => Option.some(Application.revokeAll(present)))
  )

  const removeSubscription = Effect.fnUntraced(function*(id: Application.ApplicationId) {
    const subscription = yield* subscriptions.findByApplication(id)
    if (Option.isSome(subscription)) yield* subscriptions.remove(subscription.value.id, yield* DateTime.now)
  })

  // If it fails half-way, the application is still there, and its owner can end it again. The second removal is for a
  // subscription whose callback was being validated.
  const end = Effect.fn("Applications.end")(function*(id: Application.ApplicationId) {
    yield* removeSubscription(id)
    yield* decide(id, (present) => Option.some(Application.end(present)))
    yield* removeSubscription(id)
  })

  const rotateSecretOnce = Effect.fn("Applications.rotateSecretOnce")(
    function*(present: Application.Application, overlap: Option.Option<Duration.Duration>) {
      const now = yield* DateTime.now
      const secret = yield* secrets.make("client")
      const overlapEnds = DateTime.addDuration(now, Option.getOrElse(overlap, () => policy.secretOverlap))
      const application = Application.rotateSecret(present, secrets.hash(Redacted.value(secret)), overlapEnds)
      yield* store.save(application)
      return { application, secret }
    }
  )

  const rotateSecret = (id: Application.ApplicationId, overlap: Option.Option<Duration.Duration>) =>
    untilSaved(Effect.flatMap(find(id), (present) => rotateSecretOnce(present, overlap)))

  const signingSecrets = (id: Application.ApplicationId) =>
    Effect.flatMap(
      Effect.zipRight(find(id), store.findSigningSecrets(id)),
      Option.match({ onNone: () => new ApplicationNotFound({ applicationId: id }), onSome: Effect.succeed })
    )

  const rotateSigningSecret = Effect.fn("Applications.rotateSigningSecret")(
    function*(id: Application.ApplicationId, version?: number) {
      const rotate = Effect.gen(function*() {
        const present = yield* signingSecrets(id)
        if (version !== undefined && present.version !== version) return yield* new Conflict()
        const overlapEnds = DateTime.addDuration(yield* DateTime.now, policy.secretOverlap)
        const next = Application.rotateSigningSecret(present, yield* secrets.makeSigning, overlapEnds)
        yield* store.saveSigningSecrets(next)
        return next
      })
      return yield* version === undefined ? untilSaved(rotate) : rotate
    }
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
    rotateSecretOnce,
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

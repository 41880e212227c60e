/** The sink for what happens: the services write entries, and the audit trail and the metrics read them. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ApplicationId } from "./Application.ts"
import type { Answer } from "./Callbacks.ts"
import type { Delivery } from "./Delivery.ts"
import type { UserId } from "./User.ts"

/** The actor or subject, by identifier only, so that an erasure need not search for e-mail addresses. */
export type Party = Data.TaggedEnum<{
  User: { readonly userId: UserId }
  Application: { readonly applicationId: ApplicationId }
  Operator: {}
  Unknown: {}
}>
export const Party = Data.taggedEnum<Party>()

/** The actions of people and applications. `actor` says whether the user or the application revoked. */
export type Action =
  | "login"
  | "login_failed"
  | "logout"
  | "password_changed"
  | "password_reset"
  | "sessions_ended"
  | "client_authentication_failed"
  | "consent"
  | "consent_refused"
  | "revocation"
  | "revocation_refused"
  | "replay_refused"
  | "application_created"
  | "application_changed"
  | "application_ended"
  | "subscription_changed"
  | "secret_rotated"
  | "secret_ended"
  | "signing_secret_rotated"
  | "signing_secret_ended"

/** The grant types of the token endpoint. */
export type GrantType = "authorization_code" | "refresh_token"

/** One entry. Contains no secret. */
export type Entry = Data.TaggedEnum<{
  /** Somebody did something, or was refused: an entry of the audit trail. */
  Acted: {
    readonly at: DateTime.Utc
    readonly action: Action
    readonly actor: Party
    /** The party that the action concerns. */
    readonly subject: Party
    /** Network address of the client. */
    readonly address: string
    /** Short details. Default: none. */
    readonly detail?: string
  }
  /** A pair of tokens was issued. */
  TokensIssued: { readonly grantType: GrantType }
  /**
   * `reason`: that of `InvalidGrant`, or `invalid_client`, `not_admitted`, `missing_parameter`, `scope_exceeded`,
   * `unavailable`.
   */
  TokensRefused: { readonly grantType: GrantType; readonly reason: string }
  /** A request had an invalid access token. */
  AccessRefused: {}
  /** Grants were revoked. An erasure counts as a revocation by the user. */
  GrantsRevoked: { readonly by: "application" | "user"; readonly count: number }
  /** The outcome of an attempt was recorded, or the delivery was set aside. */
  DeliverySettled: { readonly delivery: Delivery }
  /** A callback answered its validation, or did not. */
  CallbackValidated: { readonly answer: Answer }
}>
export const Entry = Data.taggedEnum<Entry>()

/** An entry of the audit trail. */
export type Acted = Data.TaggedEnum.Value<Entry, "Acted">

/**
 * Sink of entries. Every service of the core needs it, so that nobody leaves it out by mistake.
 * @example
 * ```ts
 * import { Audit } from "@startlist/core"
 * import { Effect, Layer } from "effect"
 * export const logged = Layer.succeed(Audit.Audit, {
 *   record: (entry) => Effect.logInfo(entry._tag)
 * })
 * ```
 */
export class Audit extends Context.Tag("@startlist/core/Audit")<Audit, Audit.Service>() {}

export declare namespace Audit {
  export interface Service {
    /** Keeps an entry. An implementation that cannot do so now says so in its log: the request goes on. */
    readonly record: (entry: Entry) => Effect.Effect<void>
  }
}

/** Keeps no entries. */
export const none: Layer.Layer<Audit> = Layer.succeed(Audit, { record: () => Effect.void })

/** Makes a change and its entry uninterruptible: a client that disconnects cannot cause a change without an entry. */
export const uninterrupted = <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.disconnect(Effect.uninterruptible(change))

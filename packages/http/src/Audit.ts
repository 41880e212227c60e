/** Security events for the audit: actor, action, time and network address. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import type { UserId } from "@startlist/core/User"

/** The actor or subject, by identifier only, so that an erasure need not search for e-mail addresses. */
export type Party = Data.TaggedEnum<{
  User: { readonly userId: UserId }
  Application: { readonly applicationId: ApplicationId }
  Operator: {}
  Unknown: {}
}>
export const Party = Data.taggedEnum<Party>()

/** The recorded actions. `actor` says whether the user or the application revoked. */
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

/** An audit entry. Contains no secret. */
export interface Entry {
  readonly at: DateTime.Utc
  readonly action: Action
  readonly actor: Party
  /** The party that the action concerns. Default: the actor. */
  readonly subject: Party
  /** Network address of the client. */
  readonly address: string
  /** Short details. Default: none. */
  readonly detail?: string
}

export declare namespace Audit {
  export interface Service {
    /** Keeps an entry. An implementation that cannot do so now says so in its log: the request goes on. */
    readonly record: (entry: Entry) => Effect.Effect<void>
  }
}

/** The audit. By default, nothing is stored. */
export class Audit extends Context.Reference<Audit>()("@startlist/http/Audit", {
  defaultValue: (): Audit.Service => ({ record: () => Effect.void })
}) {}

/**
 * A change together with its entry. It is uninterruptible: a client that disconnects cannot cause a change without an
 * entry. The request itself ends immediately.
 */
export const recorded = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.disconnect(Effect.uninterruptible(change))

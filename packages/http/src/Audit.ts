/** Who did what, when, and from where: told to whoever keeps a record of it. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type { ApplicationId } from "@startlist/core/Application"
import type { UserId } from "@startlist/core/User"

/** Who acts, or on whom, by identifier only: an erasure must not have to look for addresses. `Unknown`: somebody. */
export type Party = Data.TaggedEnum<{
  User: { readonly userId: UserId }
  Application: { readonly applicationId: ApplicationId }
  Operator: {}
  Unknown: {}
}>
export const Party = Data.taggedEnum<Party>()

/** What is recorded. `revocation` is by the user or by the application, as `actor` says. */
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
  | "signing_secret_rotated"

/** One line of the record. Never contains a secret. */
export interface Entry {
  readonly at: DateTime.Utc
  readonly action: Action
  readonly actor: Party
  /** The other party, or the actor itself where there is none. */
  readonly subject: Party
  /** The address of the client, as the binding found it. */
  readonly address: string
  /** More about it, in a few words. Default: nothing. */
  readonly detail?: string
}

export declare namespace Audit {
  export interface Service {
    /** Keeps an entry. An implementation that cannot do so now says so in its log: the request goes on. */
    readonly record: (entry: Entry) => Effect.Effect<void>
  }
}

/** The record; by default nothing is kept. */
export class Audit extends Context.Reference<Audit>()("@startlist/http/Audit", {
  defaultValue: (): Audit.Service => ({ record: () => Effect.void })
}) {}

/**
 * A change together with its entry. Begun, it is finished: a client that closes the connection cannot make a change that
 * has no entry. The request itself ends at once.
 */
export const recorded = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.disconnect(Effect.uninterruptible(change))

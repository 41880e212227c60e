/**
 * The store port of an import: records of a former server keep their identifiers, and its tokens lead to their grants.
 * Optional: without it, no text of another form than ours is a token.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Application, ApplicationNotFound, SigningSecrets } from "./Application.ts"
import type { Change } from "./Grant.ts"
import type { Registration } from "./Registration.ts"
import { type Fingerprint, Secrets, shortened } from "./Secrets.ts"
import type { Conflict, StoreError } from "./Store.ts"
import type { AlreadySubscribed, Subscription } from "./Subscription.ts"
import type { Name, RefreshName } from "./Token.ts"
import type { UserErased } from "./User.ts"

/**
 * The name that a token of the former server does not have. It only says which grant to look in: whether the token is
 * valid there, the grant decides, as for any other token.
 */
export interface ImportedToken extends Name {
  /** `Secrets.shortened`. */
  readonly hash: Fingerprint
  readonly kind: "access" | "refresh"
  /** After this, the token is invalid, and a purge may remove the record. */
  readonly expiresAt: DateTime.Utc
}

/** Store of what was imported. Every method is atomic. */
export class ImportStore extends Context.Tag("@startlist/core/ImportStore")<ImportStore, ImportStore.Service>() {}

export declare namespace ImportStore {
  /** Whether the record was inserted. False, without any effect, if its identifier is, or for subscriptions was, in use. */
  export type Inserted<E = never> = Effect.Effect<boolean, E | StoreError>

  /** New identifiers of a kind continue after the largest one that was inserted. */
  export interface Service {
    /** Inserts an application. Its secret may be that of another one. */
    readonly insertApplication: (
      application: Application,
      signingSecret: Redacted.Redacted<string>
    ) => Inserted<UserErased>
    /** The same as `GrantStore.save`, and adds the tokens, all or nothing. A token that is there already stays. */
    readonly saveGrant: (
      change: Change,
      tokens: ReadonlyArray<ImportedToken>
    ) => Effect.Effect<void, Conflict | StoreError>
    /** Inserts a subscription and saves the signing secrets, if any. False also if it has been removed since. */
    readonly insertSubscription: (
      subscription: Subscription,
      signingSecrets: Option.Option<SigningSecrets>
    ) => Inserted<AlreadySubscribed | ApplicationNotFound | Conflict>
    /** Inserts a registration. `Conflict` if the athlete was erased. */
    readonly insertRegistration: (registration: Registration) => Inserted<Conflict>
    /** The token with this fingerprint, also an expired one. None after an erasure of its user. */
    readonly findToken: (hash: Fingerprint) => Effect.Effect<Option.Option<ImportedToken>, StoreError>
    /** Whether there are any tokens. */
    readonly hasTokens: () => Effect.Effect<boolean, StoreError>
    /** Removes at most `limit` tokens that have expired at `now`. Returns their number. */
    readonly purgeTokens: (now: DateTime.Utc, limit: number) => Effect.Effect<number, StoreError>
  }
}

/** The salt of the refresh token of an imported grant, until its first refresh: nothing was derived with it. */
export const importedSalt = "imported"

/** The kind and the name of an imported token. */
export interface ImportedName extends RefreshName, Pick<ImportedToken, "kind"> {}

/** Time for which a node remembers whether there are any imported tokens. */
const remembered = Duration.toMillis("1 second")

/**
 * Makes a function that finds the name of a text of another form than ours. Without imported tokens, it asks the store
 * once a second at most.
 */
export const makeFindImported: Effect.Effect<
  (token: Redacted.Redacted<string>) => Effect.Effect<Option.Option<ImportedName>, StoreError>,
  never,
  Secrets
> = Effect.gen(function*() {
  const store = yield* Effect.serviceOption(ImportStore)
  const { hash } = yield* Secrets
  if (Option.isNone(store)) return () => Effect.succeedNone
  const { findToken, hasTokens } = store.value
  let known = { at: -Infinity, hasTokens: false }
  const check = Effect.flatMap(
    Clock.currentTimeMillis,
    (now) =>
      // Also back, if the clock was set back.
      Math.abs(now - known.at) < remembered ? Effect.succeed(known.hasTokens) : Effect.tap(hasTokens(), (hasTokens) => {
        known = { at: now, hasTokens }
      })
  )
  return (token: Redacted.Redacted<string>) =>
    Effect.flatMap(check, (hasTokens) =>
      hasTokens
        ? Effect.map(
          findToken(shortened(hash(Redacted.value(token)))),
          Option.map(({ applicationId, kind, userId }) => ({
            applicationId,
            userId,
            kind,
            // The first life and the first refresh token of a grant, because an import gives nothing to an older one.
            epoch: 1,
            generation: 1,
            isImported: true
          }))
        )
        : Effect.succeedNone)
})

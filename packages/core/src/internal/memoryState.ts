/** State of the in-memory stores: the maps, and the compare-and-set. */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import type { Application, ApplicationId, SigningSecrets } from "../Application.ts"
import type { Delivery, DeliveryId } from "../Delivery.ts"
import type { Grant } from "../Grant.ts"
import type { ImportedToken } from "../ImportStore.ts"
import type { Registration, RegistrationId } from "../Registration.ts"
import type { Fingerprint } from "../Secrets.ts"
import { Conflict } from "../Store.ts"
import type { Subscription, SubscriptionId } from "../Subscription.ts"
import type { UserId } from "../User.ts"

/** A delivery, its claim, and the number of claims since an outcome was recorded. */
export interface Queued {
  delivery: Delivery
  /** Whether the log of events has it. A repeated delivery is not in the log. */
  readonly isLogged: boolean
  claims: number
  claim: Option.Option<{ readonly token: string; readonly leaseEnds: number }>
}

export const makeState = () => ({
  applications: new Map<ApplicationId, Application>(),
  signingSecrets: new Map<ApplicationId, SigningSecrets>(),
  /** The client secrets with which applications were inserted. */
  firstSecrets: new Set<Fingerprint>(),
  grants: new Map<ApplicationId, Map<UserId, Grant>>(),
  erased: new Set<UserId>(),
  subscriptions: new Map<SubscriptionId, Subscription>(),
  registrations: new Map<RegistrationId, Registration>(),
  importedTokens: new Map<Fingerprint, ImportedToken>(),
  /** Also removed ones, so that a second import does not bring them back. */
  importedSubscriptions: new Set<SubscriptionId>(),
  deliveries: new Map<DeliveryId, Queued>(),
  /** The pending deliveries, in the order of their identifiers. */
  pending: new Map<DeliveryId, Queued>(),
  /** Hints for workers. At most one waits for each listener, and one for a listener that has yet to start. */
  hints: Effect.runSync(PubSub.sliding<void>({ capacity: 1, replay: 1 })),
  /** Identifiers are never used twice, not even after a removal. */
  lastIds: { application: 0, subscription: 0, registration: 0, delivery: 0 }
})

export type State = ReturnType<typeof makeState>

/** Gives a hint, beside a change that may free a delivery. Returns true. */
export const wake = (hints: State["hints"]): boolean => Effect.runSync(PubSub.publish(hints, undefined))

/** Whether a grant is active in the present epoch of its application. */
export const isActive = ({ applications }: State, { applicationEpoch, applicationId, status }: Grant): boolean =>
  status === "active" && applications.get(applicationId)?.epoch === applicationEpoch

/** Replaces the previous version by `next`. */
export const compareAndSet = <K, A extends { readonly version: number }>(
  records: Map<K, A>,
  key: K,
  next: A
): boolean => {
  if ((records.get(key)?.version ?? 0) !== next.version - 1) return false
  records.set(key, next)
  return true
}

export const saving = (save: () => boolean): Effect.Effect<void, Conflict> =>
  Effect.suspend(() => save() ? Effect.void : Effect.fail(new Conflict()))

export const newestFirst = <K, A>(records: ReadonlyMap<K, A>): ReadonlyArray<A> => [...records.values()].reverse()

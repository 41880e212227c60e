/** Records that a program has made, in the order of their appearance, and the secrets that their owners know. */
import type { ApplicationId } from "@startlist/core/Application"
import type { Delivery } from "@startlist/core/Delivery"
import type { RegistrationId } from "@startlist/core/Registration"
import type { User } from "@startlist/core/User"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"

/** The one redirect URI of every application. */
export const redirectUri = "https://app.example.test/callback"

type Secret = Redacted.Redacted<string>

export interface Client {
  readonly id: ApplicationId
  readonly secret: Secret
  readonly callbackUrl: string
}

/** A code that is stored. */
export interface KnownCode {
  readonly hash: string
  readonly application: number
  readonly user: number
  /** Undefined until the answer with it arrives. */
  secret: Secret | undefined
  verifier: Option.Option<Secret>
}

/** An access token and its refresh token that are stored. */
export interface KnownPair {
  /** Fingerprint of the refresh token. */
  readonly hash: string
  readonly application: number
  /** Undefined until the answer with them arrives. */
  access: Secret | undefined
  refresh: Secret | undefined
}

export interface ProgramFixture {
  /** Number of names that were given, also to records that are not stored yet. */
  named: number
  readonly users: Array<User>
  /** Places of users and applications that were erased. */
  readonly erased: Set<number>
  readonly ended: Set<number>
  readonly applications: Array<Client>
  readonly codes: Array<KnownCode>
  readonly pairs: Array<KnownPair>
  readonly registrations: Array<RegistrationId>
  /** Identifiers. */
  readonly subscriptions: Array<number>
  /** As last seen, oldest first. */
  deliveries: ReadonlyArray<Delivery>
  /** By identifier, with those that were purged. */
  readonly everSeen: Map<number, Delivery>
  /** Milliseconds at which subscriptions were removed, by identifier. */
  readonly removed: Map<number, number>
  /** Laws that were broken between two checks. */
  readonly violations: Array<string>
  /** Whether nothing was killed so far. */
  isCalm: boolean
}

export const makeProgramFixture = (): ProgramFixture => ({
  named: 0,
  users: [],
  erased: new Set(),
  ended: new Set(),
  applications: [],
  codes: [],
  pairs: [],
  registrations: [],
  subscriptions: [],
  deliveries: [],
  everSeen: new Map(),
  removed: new Map(),
  violations: [],
  isCalm: true
})

/** Adds to a list and returns the place. */
export const push = <A>(list: Array<A>, value: A): number => list.push(value) - 1

/** The place of the value with this fingerprint. Adds it if it is new. */
export const placeOf = <A extends { readonly hash: string }>(list: Array<A>, value: A): number => {
  const known = list.findIndex(({ hash }) => hash === value.hash)
  return known < 0 ? push(list, value) : known
}

/** Chooses an element, newest first, modulo their number. */
export const choose = <A>(
  from: ReadonlyArray<A>,
  choice: number,
  isChosen: (value: A, index: number) => boolean = () => true
): { readonly index: number; readonly value: A } | undefined => {
  const all = from.flatMap((value, index) => isChosen(value, index) ? [{ index, value }] : [])
  return all[all.length - 1 - choice % Math.max(1, all.length)]
}

/** The name of an event, which is the same on every store. */
export const nameOf = (fixture: ProgramFixture, { event }: Delivery): string => {
  const index = event.objectType === "registration"
    ? fixture.registrations.findIndex((id) => id === event.objectId)
    : fixture.users.findIndex(({ id }) => id === event.objectId)
  const status = "registration_status" in event.updates ? ` ${event.updates.registration_status}` : ""
  return `${event.aspectType} ${event.objectType} ${index}${status}`
}

/** The place of a subscription. Adds it if it is new. */
export const subscriptionOf = ({ subscriptions }: ProgramFixture, id: number): number => {
  const known = subscriptions.indexOf(id)
  return known < 0 ? push(subscriptions, id) : known
}

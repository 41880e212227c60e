/** What a program has made, in the order of its appearance, with the secrets that only its owners know. */
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

export interface KnownCode {
  readonly secret: Secret
  readonly application: number
  readonly user: number
  readonly verifier: Option.Option<Secret>
}

export interface KnownToken {
  readonly secret: Secret
  readonly application: number
}

export interface ProgramFixture {
  /** Counts what was given a name, before it is there. */
  named: number
  readonly users: Array<User>
  readonly applications: Array<Client>
  readonly codes: Array<KnownCode>
  readonly access: Array<KnownToken>
  readonly refresh: Array<KnownToken>
  readonly registrations: Array<RegistrationId>
  /** Identifiers. */
  readonly subscriptions: Array<number>
  /** As last seen, oldest first. */
  deliveries: ReadonlyArray<Delivery>
  /** Those that were purged too, by identifier. */
  readonly everSeen: Map<number, Delivery>
  /** Milliseconds at which subscriptions were removed, by identifier. */
  readonly removed: Map<number, number>
  /** Laws that were seen broken while something else was going on. */
  readonly violations: Array<string>
  /** Whether nothing was killed so far. */
  isCalm: boolean
}

export const makeProgramFixture = (): ProgramFixture => ({
  named: 0,
  users: [],
  applications: [],
  codes: [],
  access: [],
  refresh: [],
  registrations: [],
  subscriptions: [],
  deliveries: [],
  everSeen: new Map(),
  removed: new Map(),
  violations: [],
  isCalm: true
})

/** One of these, newest first, modulo their number. */
export const choose = <A>(
  from: ReadonlyArray<A>,
  choice: number
): { readonly index: number; readonly value: A } | undefined => {
  const index = from.length - 1 - choice % Math.max(1, from.length)
  const value = from[index]
  return value === undefined ? undefined : { index, value }
}

/** The same name for the same thing on every store. */
export const nameOf = (fixture: ProgramFixture, { event }: Delivery): string => {
  const index = event.objectType === "registration"
    ? fixture.registrations.findIndex((id) => id === event.objectId)
    : fixture.users.findIndex(({ id }) => id === event.objectId)
  const status = "registration_status" in event.updates ? ` ${event.updates.registration_status}` : ""
  return `${event.aspectType} ${event.objectType} ${index}${status}`
}

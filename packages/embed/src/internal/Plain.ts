/** Plain objects, numbers, strings and dates of the promise-based API. */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Core from "@startlist/core/Application"
import * as CoreSecret from "@startlist/core/ApplicationSecret"
import type * as CoreDelivery from "@startlist/core/Delivery"
import type { Updates } from "@startlist/core/Event"
import * as CoreAccess from "@startlist/core/Access"
import type { Authorized } from "@startlist/core/OAuth"
import type { Exported } from "@startlist/core/PersonalData"
import type * as CoreRegistration from "@startlist/core/Registration"
import type * as CoreSubscription from "@startlist/core/Subscription"
import * as CoreUser from "@startlist/core/User"

/** The result, or the reason of a refusal. Errors of the store reject the promise instead. */
export type Result<A, Refused> =
  | ({ readonly ok: true } & A)
  | ({ readonly ok: false } & Refused)

/** The record does not exist. */
export interface NotFound {
  readonly reason: "not_found"
}

/** The person still owns applications. */
export interface OwnsApplications {
  readonly reason: "owns_applications"
}

/** An input is not acceptable. `field` is the name on the wire: `redirect_uris`, `athlete_id`, … */
export interface Invalid {
  readonly reason: "invalid"
  readonly field: string
  readonly message: string
}

/** Numbers of records by what an import did with them. `unchanged`: a record that is here already. */
export interface ImportCounts {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
}

/** What an import did. */
export interface Imported {
  /** By kind. */
  readonly counts: {
    readonly [Kind in "application" | "registration" | "subscription" | "grant"]: ImportCounts
  }
  /** The records that were not imported, by their place from 1, and why. Nothing of them is stored. */
  readonly refused: ReadonlyArray<{ readonly line: number; readonly message: string }>
}

/** The role of a user. Each has one. */
export type Role = CoreUser.Role

/** A user of the server. `id` is a positive integer below 2^53; `email` at most 254 characters; names at most 200. */
export interface User {
  readonly id: number
  readonly role: Role
  readonly email: string
  readonly firstName?: string
  readonly lastName?: string
}

export const fromUser = ({ email, firstName = "", id, lastName = "", role }: User): CoreUser.User =>
  CoreUser.User.make({ id: CoreUser.UserId.make(id), role, email, firstName, lastName })

/** The access that a token gives. */
export interface Access {
  readonly applicationId: number
  readonly userId: number
  readonly role: Role
  readonly scope: ReadonlyArray<string>
  readonly createdAt: Date
  readonly expiresAt: Date
}

export const toAccess = ({ createdAt, expiresAt, ...access }: CoreAccess.BearerAccess): Access => ({
  ...access,
  createdAt: DateTime.toDateUtc(createdAt),
  expiresAt: DateTime.toDateUtc(expiresAt)
})

/** Links that users see before they allow an application. */
export type Links = Core.Links

/** A registered application. */
export interface Application {
  readonly id: number
  readonly name: string
  readonly ownerId: number
  readonly redirectUris: ReadonlyArray<string>
  readonly requirePkce: boolean
  readonly links: Links
  readonly createdAt: Date
}

export const toApplication = (
  { createdAt, id, links = {}, name, ownerId, redirectUris, requirePkce }: Core.Application
): Application => ({ id, name, ownerId, redirectUris, requirePkce, links, createdAt: DateTime.toDateUtc(createdAt) })

/** A live secret of an application. The newest one has no end. */
export interface Secret {
  readonly number: number
  readonly expiresAt?: Date
}

export const toSecret = ({ expiresAt, number }: CoreSecret.Lifetime): Secret => ({
  number,
  ...Option.match(expiresAt, { onNone: () => ({}), onSome: (at) => ({ expiresAt: DateTime.toDateUtc(at) }) })
})

/** The live client secrets of an application. */
export interface Secrets {
  /** Newest first. */
  readonly secrets: ReadonlyArray<Secret>
}

export const toSecrets = ({ secrets }: Core.Application, now: DateTime.Utc): Secrets => ({
  secrets: CoreSecret.live(secrets, now).map(toSecret)
})

/** A change of secrets is refused. The message says what to do. */
export type SecretRefused = Pick<CoreSecret.SecretRefused, "reason" | "message">

/** The live signing secrets of an application. */
export interface SigningSecrets {
  /** Newest first. */
  readonly secrets: ReadonlyArray<Secret & { readonly value: string }>
}

export const toSigningSecrets = ({ secrets }: Core.SigningSecrets, now: DateTime.Utc): SigningSecrets => ({
  secrets: CoreSecret.live(secrets, now).map((secret) => ({ value: Redacted.value(secret.value), ...toSecret(secret) }))
})

/** An application and what its user has granted to it. */
export interface Authorization {
  readonly application: Application
  readonly role: Role
  readonly scope: ReadonlyArray<string>
  /** `scope`, and the scopes that tokens of an earlier, broader consent have until they expire. */
  readonly liveScope: ReadonlyArray<string>
  readonly grantedAt: Date
}

export const toAuthorization = ({ application, grant }: Authorized, now: DateTime.Utc): Authorization => ({
  application: toApplication(application),
  role: grant.role,
  scope: grant.scope,
  liveScope: CoreAccess.liveScope(grant, now),
  grantedAt: DateTime.toDateUtc(grant.grantedAt)
})

/** The users whose applications get the events of a registration. */
export interface Parties {
  readonly athleteId: number
  readonly organizerId?: number | undefined
  readonly clubId?: number | undefined
  readonly platformUserId?: number | undefined
}

/** A registration, with the content of its events. */
export interface Registration {
  readonly id: number
  readonly parties: Parties
  /** The six fields in its events (requirements §6.2). */
  readonly updates: Updates
}

export const fromParties = ({ athleteId, clubId, organizerId, platformUserId }: Parties): CoreRegistration.Parties => {
  const optional = (id: number | undefined) =>
    Option.map(Option.fromNullable(id), (given) => CoreUser.UserId.make(given))
  return {
    athleteId: CoreUser.UserId.make(athleteId),
    organizerId: optional(organizerId),
    clubId: optional(clubId),
    platformUserId: optional(platformUserId)
  }
}

export const toRegistration = ({ id, parties, updates }: CoreRegistration.Registration): Registration => ({
  id,
  parties: {
    athleteId: parties.athleteId,
    organizerId: Option.getOrUndefined(parties.organizerId),
    clubId: Option.getOrUndefined(parties.clubId),
    platformUserId: Option.getOrUndefined(parties.platformUserId)
  },
  updates
})

/** The records about a person. */
export interface PersonalData {
  /** Oldest first. */
  readonly grants: ReadonlyArray<Authorization>
  /** Registrations of the athlete in Startlist, oldest first. */
  readonly registrations: ReadonlyArray<Registration>
}

export const toPersonalData = ({ grants, registrations }: Exported, now: DateTime.Utc): PersonalData => ({
  grants: grants.map((one) => toAuthorization(one, now)),
  registrations: registrations.map(toRegistration)
})

/** The subscription of an application. */
export interface Subscription {
  readonly id: number
  readonly applicationId: number
  readonly callbackUrl: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const toSubscription = (
  { applicationId, callbackUrl, createdAt, id, updatedAt }: CoreSubscription.Subscription
): Subscription => ({
  id,
  applicationId,
  callbackUrl,
  createdAt: DateTime.toDateUtc(createdAt),
  updatedAt: DateTime.toDateUtc(updatedAt)
})

/** The delivery of one event to one subscription. */
export interface Delivery {
  readonly id: number
  readonly applicationId: number
  readonly subscriptionId: number
  /** The `webhook-id` of every attempt. */
  readonly eventId: string
  readonly objectType: "registration" | "athlete" | "organizer"
  readonly objectId: number
  readonly state: CoreDelivery.State
  /** Time of the event. */
  readonly eventTime: Date
  readonly attempts: ReadonlyArray<{
    readonly at: Date
    readonly durationMs: number
    readonly outcome: CoreDelivery.Attempt["outcome"]
    readonly status: number | undefined
    readonly detail: string
  }>
}

export const toDelivery = (
  { applicationId, attempts, event, id, state, subscriptionId }: CoreDelivery.Delivery
): Delivery => ({
  id,
  applicationId,
  subscriptionId,
  eventId: event.id,
  objectType: event.objectType,
  objectId: event.objectId,
  state,
  eventTime: DateTime.toDateUtc(event.time),
  attempts: attempts.map(({ at, status, ...attempt }) => ({
    ...attempt,
    at: DateTime.toDateUtc(at),
    status: Option.getOrUndefined(status)
  }))
})

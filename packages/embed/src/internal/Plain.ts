/** Plain objects, numbers, strings and dates of the promise-based API. Imports nothing: users have no Effect. */

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

/** The outcome of an import. */
export interface Imported {
  /** By kind. */
  readonly counts: {
    readonly [Kind in "application" | "registration" | "subscription" | "grant"]: ImportCounts
  }
  /** The records that were not imported, by their place from 1, and why. Nothing of them is stored. */
  readonly refused: ReadonlyArray<{ readonly line: number; readonly message: string }>
}

/** The role of a user. Each has one. */
export type Role = "platform" | "organizer" | "club" | "athlete"

/** A user of the server. `id` is a positive integer below 2^53; `email` at most 254 characters; names at most 200. */
export interface User {
  readonly id: number
  readonly role: Role
  readonly email: string
  readonly firstName?: string
  readonly lastName?: string
}

/** The access that a token gives. */
export interface Access {
  readonly applicationId: number
  readonly userId: number
  readonly role: Role
  readonly scope: ReadonlyArray<string>
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Links that users see before they allow an application. */
export interface Links {
  readonly website?: string
  readonly privacyPolicy?: string
  readonly logo?: string
}

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

/** A live secret of an application. The newest one has no end. */
export interface Secret {
  readonly number: number
  readonly expiresAt?: Date
}

/** The live client secrets of an application. */
export interface Secrets {
  /** Newest first. */
  readonly secrets: ReadonlyArray<Secret>
}

/** A change of secrets is refused. The message says what to do. */
export interface SecretRefused {
  readonly reason: "unknown" | "current" | "too_many" | "outdated"
  readonly message: string
}

/** The live signing secrets of an application. */
export interface SigningSecrets {
  /** Newest first. */
  readonly secrets: ReadonlyArray<Secret & { readonly value: string }>
}

/** An application and what its user has granted to it. */
export interface Authorization {
  readonly application: Application
  readonly role: Role
  readonly scope: ReadonlyArray<string>
  /** `scope`, and the scopes that tokens of an earlier, broader consent have until they expire. */
  readonly liveScope: ReadonlyArray<string>
  readonly grantedAt: Date
}

/** The users whose applications get the events of a registration. */
export interface Parties {
  readonly athleteId: number
  readonly organizerId?: number | undefined
  readonly clubId?: number | undefined
  readonly platformUserId?: number | undefined
}

/** The six fields in the events of a registration (requirements §6.2). */
export interface Updates {
  readonly platform_id: string
  readonly registration_status: string
  readonly document_type: string
  readonly document_status: string
  readonly reasons: ReadonlyArray<string>
  readonly comment: string
}

/** A registration, with the content of its events. */
export interface Registration {
  readonly id: number
  readonly parties: Parties
  readonly updates: Updates
}

/** The records about a person. */
export interface PersonalData {
  /** Oldest first. */
  readonly grants: ReadonlyArray<Authorization>
  /** Registrations of the athlete in Startlist, oldest first. */
  readonly registrations: ReadonlyArray<Registration>
}

/** The subscription of an application. */
export interface Subscription {
  readonly id: number
  readonly applicationId: number
  readonly callbackUrl: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/**
 * The state of a delivery. `exhausted` by the last failure, `cancelled` with its subscription, `set_aside` by claims
 * without an outcome.
 */
export type State = "pending" | "delivered" | "exhausted" | "cancelled" | "set_aside"

/** The delivery of one event to one subscription. */
export interface Delivery {
  readonly id: number
  readonly applicationId: number
  readonly subscriptionId: number
  /** The `webhook-id` of every attempt. */
  readonly eventId: string
  readonly objectType: "registration" | "athlete" | "organizer"
  readonly objectId: number
  readonly state: State
  /** Time of the event. */
  readonly eventTime: Date
  readonly attempts: ReadonlyArray<{
    readonly at: Date
    readonly durationMs: number
    readonly outcome: "delivered" | "rejected" | "timeout" | "unreachable" | "forbidden_address"
    readonly status: number | undefined
    readonly detail: string
  }>
}

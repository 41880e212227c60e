/** Controls of a fake. */
import type { Startlist } from "@startlist/embed"
import type * as Duration from "effect/Duration"
import type { DeliveryFault, NextResponses, RecordedRequest } from "./Faults.ts"

/** A control that cannot be executed. */
export class InvalidControl extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
    this.field = field
  }
}

/** An application with its credentials. */
export interface Application {
  readonly clientId: number
  readonly clientSecret: string
  readonly signingSecret: string
  readonly name: string
}

/** The fields of a registration that events contain. */
export type Updates = Partial<Startlist.Registration["updates"]>

/** A user by identifier or e-mail address. */
export type Who = number | string

/** A running fake. */
export interface Fake {
  readonly url: string
  readonly application: Application
  /** One of each role, and those that were added. */
  readonly users: () => ReadonlyArray<Startlist.User>
  readonly addUser: (user: Omit<Startlist.User, "id">) => Startlist.User
  readonly addApplication: (settings: {
    readonly name: string
    readonly redirectUris?: ReadonlyArray<string>
    readonly requirePkce?: boolean
  }) => Promise<Application>
  /** Decides about an authorization request as a user, without a browser. Returns the URL of the redirect. */
  readonly consent: (authorizationUrl: string, user: Who, decision?: "allow" | "deny") => Promise<string>
  /** Revokes access on behalf of a user. `clientId`: default the first application. */
  readonly revoke: (user: Who, clientId?: number) => Promise<void>
  /** Creates a registration of an athlete. Returns its identifier. */
  readonly addRegistration: (
    parties?: { readonly athlete?: Who; readonly organizer?: Who; readonly club?: Who },
    updates?: Updates
  ) => Promise<number>
  readonly changeRegistration: (id: number, updates: Updates) => Promise<void>
  /** The time of the fake, also in the bodies of its events. */
  readonly now: () => Date
  /** Moves the time forward, for example by `8 hours`. Tokens expire and events are retried as in that time. */
  readonly advance: (duration: Duration.DurationInput) => Promise<void>
  /** Waits until every due event has been delivered and answered. */
  readonly settle: () => Promise<void>
  readonly nextResponses: (next: NextResponses) => void
  readonly nextDeliveries: (fault: DeliveryFault, count?: number) => void
  /** Removes the faults that have not happened yet. */
  readonly clearFaults: () => void
  /** Requests of the application, oldest first. */
  readonly requests: () => ReadonlyArray<RecordedRequest>
  readonly clearRequests: () => void
  readonly deliveries: () => Promise<ReadonlyArray<Startlist.Delivery>>
  readonly stop: () => Promise<void>
}

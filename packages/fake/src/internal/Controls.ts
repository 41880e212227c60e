/** Controls of a fake, as plain types. Imports no Effect. */
import type { Startlist } from "@startlist/embed"

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

/**
 * `lost`: processed, but the connection closes without a response. `slow`: a late response. `unavailable`: 503, not
 * processed.
 */
export const responseFaults = ["lost", "slow", "unavailable"] as const
/** A fault of a response. */
export type ResponseFault = typeof responseFaults[number]

/** Which responses have a fault. */
export interface NextResponses {
  readonly fault: ResponseFault
  /** Number of responses. Default: 1. */
  readonly count?: number
  /** Only for requests of this path. Default: any. */
  readonly path?: string
  /** For `slow`, in milliseconds. Default: 3000. */
  readonly delay?: number
}

/** A request of the application. Its secrets are fakes, so nothing is omitted. */
export interface RecordedRequest {
  /** In milliseconds since 1970, by the time of the fake. */
  readonly at: number
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** At most 64 KiB of it. */
  readonly body: string
  /** The status of the response, also of a lost one. */
  readonly status: number
  readonly fault?: ResponseFault
}

/** `twice`: it arrives two times. `late`: its first attempt does not arrive. `never`: none does. */
export const deliveryFaults = ["twice", "late", "never"] as const
/** A fault of the delivery of an event. */
export type DeliveryFault = typeof deliveryFaults[number]

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
  readonly advance: (duration: Startlist.Duration) => Promise<void>
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

/** The services of the core as functions of plain values that return promises. */
import type * as Plain from "./Plain.ts"

/** Settings of an application. */
export interface Settings {
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  readonly requirePkce: boolean
  /** Links on the consent page: https, at most 255 characters each. `""` removes a link; the others stay. */
  readonly links?: Plain.Links
}

/** Settings to change. `ownerId`: another platform user gets the application. */
export interface Change extends Partial<Settings> {
  readonly ownerId?: number
}

/** An application and its secret, which is shown only this once. */
export interface WithSecret {
  readonly application: Plain.Application
  readonly secret: string
}

/** A new application with the secret that signs its events. */
export interface Created extends WithSecret {
  readonly signingSecret: string
}

/** How to replace a secret. */
export interface Rotation {
  /** Seconds for which the present secret stays valid. Default: the policy's, a day. */
  readonly overlapSeconds?: number
}

type Refusal = Plain.NotFound | Plain.SecretRefused

/** A request of an application for a user's consent. */
export interface Asked {
  readonly application: Plain.Application
  readonly scope: ReadonlyArray<string>
  /** The role that the user must have, if the application requires one. */
  readonly role: Plain.Role | undefined
  readonly redirectUri: string
}

/**
 * The reason why the browser cannot be sent back: show it on your page. `malformed`: the query cannot be read.
 * `wrong_role`: the user does not have the role that the application requires.
 */
export interface NotAnswered {
  readonly reason:
    | "unknown_client"
    | "suspended_client"
    | "missing_redirect_uri"
    | "unregistered_redirect_uri"
    | "repeated_client_id"
    | "repeated_redirect_uri"
    | "ambiguous_redirect_uri"
    | "malformed"
    | "wrong_role"
}

/** A URL of the application, to which you send the browser with 303. */
export interface SentBack {
  readonly redirect: string
}

/**
 * `query` is the unchanged query of the request to your page, with or without its question mark. Nothing is stored
 * between the page and the decision: pass the same query again.
 */
export interface Consents {
  /** Checks a request. With `redirect`, the application made a mistake, and the redirect reports it. */
  readonly check: (query: string) => Promise<Plain.Result<Asked, SentBack | NotAnswered>>
  /** The user allows the access. `address` is the network address of the client, for the audit. */
  readonly allow: (
    query: string,
    user: Plain.User,
    address?: string
  ) => Promise<Plain.Result<SentBack, SentBack | NotAnswered>>
  /** The user refuses the access. */
  readonly deny: Consents["allow"]
}

/** Use cases of the core. Promises are rejected while the store is unavailable. */
export interface Calls {
  readonly applications: {
    /** Registers an application of a platform user. `requirePkce` is false unless given. */
    readonly create: (
      ownerId: number,
      settings: Omit<Settings, "requirePkce"> & Partial<Settings>
    ) => Promise<Plain.Result<Created, Plain.Invalid>>
    /** Changes the settings that are given. */
    readonly change: (
      id: number,
      settings: Change
    ) => Promise<Plain.Result<{ readonly application: Plain.Application }, Plain.Invalid | Plain.NotFound>>
    /** Ends the application with its secrets, grants and subscription. It cannot be restored. */
    readonly end: (id: number) => Promise<Plain.Result<{}, Plain.NotFound>>
    /**
     * Makes a new client secret. The present one stays valid for the overlap, and older ones until their ends. With an
     * overlap of 0 all others end. At most five are live: a sixth is refused with `too_many`.
     */
    readonly rotateSecret: (id: number, rotation?: Rotation) => Promise<Plain.Result<WithSecret, Refusal>>
    /** Number and end of each live client secret, newest first. */
    readonly secrets: (id: number) => Promise<Plain.Result<Plain.Secrets, Refusal>>
    /** Ends a replaced client secret before its time. The current one is refused. Returns the others. */
    readonly endSecret: (id: number, number: number) => Promise<Plain.Result<Plain.Secrets, Refusal>>
    /** The secrets that sign the application's events now, newest first. */
    readonly signingSecrets: (id: number) => Promise<Plain.Result<Plain.SigningSecrets, Refusal>>
    /** Makes a new signing secret, as `rotateSecret` does. All live ones sign. */
    readonly rotateSigningSecret: (
      id: number,
      rotation?: Rotation
    ) => Promise<Plain.Result<Plain.SigningSecrets, Refusal>>
    /** Ends a replaced signing secret before its time. Returns the others. */
    readonly endSigningSecret: (id: number, number: number) => Promise<Plain.Result<Plain.SigningSecrets, Refusal>>
    readonly find: (id: number) => Promise<Plain.Application | undefined>
    /** Newest first, at most `limit` (default 100), those after the one with the id `after`. */
    readonly list: (
      filter?: { readonly ownerId?: number; readonly after?: number; readonly limit?: number }
    ) => Promise<ReadonlyArray<Plain.Application>>
  }
  readonly registrations: {
    /** Stores a new registration, without an event: its status has not changed. */
    readonly create: (
      parties: Plain.Parties,
      updates?: Partial<Plain.Updates>
    ) => Promise<Plain.Result<{ readonly registration: Plain.Registration }, Plain.Invalid>>
    readonly find: (id: number) => Promise<Plain.Registration | undefined>
    /** Changes any of the six fields. The events for all subscriptions concerned are saved with the change. */
    readonly change: (
      id: number,
      updates: Partial<Plain.Updates>
    ) => Promise<Plain.Result<{ readonly registration: Plain.Registration }, Plain.Invalid | Plain.NotFound>>
  }
  readonly events: {
    /**
     * Reports a change of a registration that your server stores itself, under its own identifier. `updates` has all
     * six fields. `sequence` grows with each change of this registration, such as its version in your database; default:
     * the time in milliseconds. Returns the `webhook-id`.
     */
    readonly registrationChanged: (
      changed: Plain.Registration & { readonly sequence?: number | undefined }
    ) => Promise<Plain.Result<{ readonly eventId: string }, Plain.Invalid>>
  }
  readonly grants: {
    /** Grants of a user, oldest first. */
    readonly list: (userId: number) => Promise<ReadonlyArray<Plain.Authorization>>
    /** Revokes an application's access for the user. Afterwards its tokens are invalid, and the event is saved. */
    readonly revoke: (applicationId: number, userId: number) => Promise<Plain.Result<{}, Plain.NotFound>>
  }
  readonly personalData: {
    /** What Startlist stores about a person. */
    readonly export: (userId: number) => Promise<Plain.PersonalData>
    /**
     * Erases a person in one save, and says how many grants it has revoked. Afterwards no text of the person is stored, and
     * the applications are notified. Refuses every later consent and registration of this user: the identifier must not be
     * given to another person. `registrationIds`: registrations of the person that your server stores itself. Stop reporting
     * their texts first. `owns_applications`: nothing was erased. End these applications, or give them another owner. If the
     * promise rejects, repeat the call.
     */
    readonly erase: (
      userId: number,
      registrationIds?: ReadonlyArray<number>
    ) => Promise<Plain.Result<{ readonly revoked: number }, Plain.Invalid | Plain.OwnsApplications>>
  }
  readonly subscriptions: {
    /** The application's one subscription. */
    readonly find: (applicationId: number) => Promise<Plain.Subscription | undefined>
  }
  readonly deliveries: {
    /** Newest first, at most `limit` (default 100), those after the one with the id `after`. */
    readonly list: (filter?: {
      readonly applicationId?: number
      readonly state?: Plain.State
      readonly after?: number
      readonly limit?: number
    }) => Promise<ReadonlyArray<Plain.Delivery>>
    /** Delivers the event again: a new delivery with the same `webhook-id`. */
    readonly redeliver: (
      id: number
    ) => Promise<Plain.Result<{ readonly delivery: Plain.Delivery }, Plain.NotFound>>
  }
  /**
   * Imports the records of a former server: lines of JSON, or objects, of every kind but `user` (see docs/moving.md).
   * Applications come before what names them. With `dryRun`, it saves nothing. If the promise rejects, repeat the call: what
   * is here stays.
   */
  readonly import: (
    records: Iterable<string | object> | AsyncIterable<string | object>,
    options?: { readonly dryRun?: boolean }
  ) => Promise<Plain.Imported>
}

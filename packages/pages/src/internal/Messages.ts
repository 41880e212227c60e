/** The texts of the pages. Each language has one complete catalogue: a missing text does not compile. */
import type { Role } from "@startlist/core/User"
import type { DeveloperMessages } from "./developer/DeveloperMessages.ts"

/** The reason why a page cannot be shown, as far as users need it. */
export type ErrorKind =
  | "notFound"
  | "badRequest"
  | "methodNotAllowed"
  | "tooLarge"
  | "tooMany"
  | "unavailable"
  | "forged"
  | "signedOut"
  | "outdated"
  | "notPlatform"
  | "unknownClient"
  | "suspendedClient"
  | "missingRedirect"
  | "unregisteredRedirect"
  | "repeatedClient"
  | "repeatedRedirect"
  | "ambiguousRedirect"
  | "requestTooLong"

/** Texts of an error page: what happened, and what to do. */
export interface Explanation {
  readonly title: string
  readonly what: string
  readonly advice: string
}

export interface Messages {
  /** The name of the language itself, for the switch. */
  readonly language: string
  /** The language and its country, for dates and numbers. */
  readonly tag: string
  readonly roles: Readonly<Record<Role, string>>
  /** Describes a scope. A scope of the operator without a description is shown by its name. */
  readonly scope: (name: string) => string | undefined
  readonly date: (epochMillis: number) => string
  /** Date, time and time zone (UTC). */
  readonly dateTime: (epochMillis: number) => string
  readonly number: (value: number) => string
  /** `1 hour`, `2 hours`. */
  readonly duration: (value: number, unit: "second" | "minute" | "hour") => string
  /** Colon between a label and its value, with the spaces of the language. */
  readonly colon: string
  readonly layout: {
    readonly account: string
    readonly applications: string
    readonly developer: string
    readonly security: string
    readonly signOut: string
    readonly languages: string
    /** The link that skips the header. */
    readonly skip: string
    /** The title of an error page. */
    readonly failed: (title: string) => string
    readonly copy: string
    readonly copied: string
  }
  readonly welcome: {
    readonly what: string
    readonly applications: string
    readonly developer: string
    readonly reference: string
    readonly metadata: string
    readonly operators: string
    readonly health: string
    readonly readiness: string
  }
  readonly login: {
    readonly title: string
    readonly explanation: string
    /** Shown if a consent page follows. */
    readonly onTheWay: (application: string) => string
    readonly problem: string
    readonly email: string
    readonly password: string
    readonly submit: string
    readonly wrong: string
    readonly emailMissing: string
    readonly passwordMissing: string
    readonly stale: string
    readonly wait: (seconds: number) => string
  }
  readonly consent: {
    readonly title: (application: string) => string
    readonly asks: (application: string) => string
    readonly application: string
    readonly returns: string
    readonly website: string
    readonly privacyPolicy: string
    readonly account: string
    readonly role: string
    readonly notYou: string
    readonly switchAccount: string
    readonly scopes: (application: string) => string
    readonly allOrNothing: string
    readonly durationTitle: string
    readonly duration: (application: string) => string
    readonly manage: string
    readonly notified: (application: string) => string
    readonly before: (application: string) => string
    readonly allow: string
    readonly deny: string
    readonly roleTitle: string
    readonly roleMismatch: (application: string, requested: Role, actual: Role) => string
    readonly roleThen: (requested: Role) => string
    readonly backToApplication: (application: string) => string
  }
  readonly security: {
    readonly title: string
    readonly password: string
    readonly present: string
    readonly next: string
    readonly rule: string
    readonly change: string
    readonly changed: string
    readonly problem: string
    readonly wrong: string
    readonly missing: string
    readonly unacceptable: string
    readonly sessions: string
    readonly sessionsExplained: string
    readonly started: string
    readonly used: string
    readonly session: string
    readonly thisSession: string
    readonly otherSession: string
    readonly end: string
    readonly endOthers: string
    readonly ended: string
    readonly reset: string
    readonly resetFor: (email: string) => string
    readonly resetDone: string
    readonly resetRefused: string
  }
  readonly applications: {
    readonly title: string
    readonly none: string
    readonly noneThen: string
    readonly explanation: string
    readonly access: string
    /** The scopes that tokens of an earlier, broader consent still allow. */
    readonly still: string
    readonly role: string
    readonly since: string
    readonly used: string
    readonly unused: string
    readonly revoke: string
    readonly revokeMeans: (application: string) => string
    readonly revokeAgain: (application: string) => string
    readonly revokeNamed: (application: string) => string
    readonly revoked: string
  }
  readonly error: Readonly<Record<ErrorKind, Explanation>> & {
    readonly status: (status: number) => string
    /** The name of the request in the log. */
    readonly request: string
    readonly home: string
    readonly again: string
    /** A link to the page that the user probably wants. */
    readonly goTo: (path: string) => string
  }
  readonly developer: DeveloperMessages
}

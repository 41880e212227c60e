/** Everything that the pages say. Each language is one complete catalogue, so that a missing sentence does not compile. */
import type { Role } from "@startlist/core/User"

export interface Messages {
  /** The name of the language itself, for the switch. */
  readonly language: string
  readonly roles: Readonly<Record<Role, string>>
  /** What a scope allows, in words; one that is configured without words is shown by its name. */
  readonly scope: (name: string) => string
  readonly layout: {
    readonly applications: string
    readonly signOut: string
    readonly signedInAs: (name: string, role: Role) => string
    readonly languages: string
  }
  readonly login: {
    readonly title: string
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
    readonly asks: (application: string, host: string) => string
    readonly account: (name: string, role: Role) => string
    readonly scopes: string
    readonly duration: (application: string) => string
    readonly manage: string
    readonly allow: string
    readonly deny: string
    readonly roleTitle: string
    readonly roleMismatch: (application: string, requested: Role, actual: Role) => string
    readonly switchAccount: string
    readonly backToApplication: (application: string) => string
  }
  readonly applications: {
    readonly title: string
    readonly none: string
    readonly explanation: string
    readonly application: string
    readonly access: string
    readonly since: string
    readonly action: string
    readonly revoke: string
    readonly revokeNamed: (application: string) => string
    readonly date: (epochMillis: number) => string
  }
  readonly error: {
    readonly title: string
    readonly notFound: string
    readonly badRequest: string
    readonly methodNotAllowed: string
    readonly tooLarge: string
    readonly tooMany: string
    readonly unavailable: string
    readonly forged: string
    readonly unknownClient: string
    readonly missingRedirect: string
    readonly unregisteredRedirect: string
    readonly home: string
  }
}

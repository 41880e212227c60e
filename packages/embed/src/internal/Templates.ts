/** Pages of your own in place of ours, as plain types. Imports no Effect. */
import type { Application, Authorization, Role, User } from "./Plain.ts"

/** Context of a page beside its content. */
export interface Frame {
  /** The language of the user. */
  readonly locale: "en" | "fr"
  /** Path and query of the page for the browser. */
  readonly here: string
  /** The signed-in user, and the value for the field `csrf` of every form. */
  readonly signedIn: { readonly user: User; readonly csrf: string } | undefined
  readonly signOutUrl: string
  /** The path under which the pages are mounted, or an empty text. */
  readonly base: string
  /** Whether this path (without `base`) has a page. */
  readonly has: (path: string) => boolean
  /** The result of the form before this page, in words. */
  readonly notice: string | undefined
}

/** Hidden fields of a form. */
export type Fields = ReadonlyArray<readonly [name: string, value: string]>

/** Content of the consent page. */
export interface ConsentPage {
  readonly frame: Frame
  readonly application: Application
  readonly scope: ReadonlyArray<string>
  /** The address to which the browser returns. */
  readonly redirectUri: string
  readonly signedIn: { readonly user: User; readonly csrf: string }
  /** Address for the decision: `decision` is `allow` or `deny`. */
  readonly action: string
  readonly fields: Fields
  /** Whether the application already has access to this user's account. */
  readonly isAllowedBefore: boolean
}

/** Content of the page about a wrong role: the application asks for a user with another one. */
export interface WrongRolePage extends ConsentPage {
  readonly requested: Role
}

/** Content of the page with the applications that a user has authorised. */
export interface ApplicationsPage {
  readonly frame: Frame
  /** Each with the hidden fields of its form. */
  readonly authorized: ReadonlyArray<Authorization & { readonly fields: Fields }>
  readonly csrf: string
}

/** Content of an error page. */
export interface FailurePage {
  readonly frame: Frame
  /** Status of the response. */
  readonly status: number
  /** The texts of our page, in the language of the user. */
  readonly title: string
  readonly explanation: string
  readonly advice: string
  /** Address at which the user can start again, if there is one. */
  readonly again: string | undefined
  /** The name of the request in the log, if it has one. */
  readonly requestId: string | undefined
}

/**
 * Each function returns one page: a whole HTML document from any template engine. Escape the values: names of
 * applications come from strangers.
 */
export interface Templates {
  /** Asks for consent: a form to `action` with the hidden `fields`, `csrf`, and two buttons named `decision`. */
  readonly consent: (page: ConsentPage) => string
  /** Says that the application asks for a user with another role: the same form, with the button `deny` only. */
  readonly wrongRole: (page: WrongRolePage) => string
  /**
   * The authorised applications. Each has a form to `{frame.base}/account/applications/{application.id}/revoke` with
   * `csrf` and its hidden `fields`. `frame.notice` says what was revoked.
   */
  readonly applications: (page: ApplicationsPage) => string
  /** Says why a page cannot be shown. */
  readonly failure: (page: FailurePage) => string
  /**
   * Sources besides Startlist's own style sheet and images, by directive of the content security policy:
   * `{ "style-src": "'self' https://cdn.club.example" }`.
   */
  readonly sources: Readonly<Record<string, string>>
}

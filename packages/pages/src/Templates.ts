/** Templates of the pages for users, which servers with their own design can replace. */
import * as Context from "effect/Context"
import {
  ApplicationList,
  type ApplicationsPage,
  Consent,
  type ConsentPage,
  Failure,
  type FailurePage,
  WrongRole,
  type WrongRolePage
} from "./internal/StandardTemplates.tsx"
import { render } from "./internal/Page.ts"

export type { ApplicationsPage, ConsentPage, FailurePage, WrongRolePage } from "./internal/StandardTemplates.tsx"
export type { Frame } from "./internal/Page.ts"
export { type Locale, textsIn } from "./internal/Locale.ts"
export type { Texts } from "./internal/English.ts"

export declare namespace Templates {
  /**
   * Each method returns one page: a whole HTML document from any template engine. It gets only values that may be
   * shown, and writes the forms as described. Escape the values.
   */
  export interface Service {
    /** Asks for consent: a form to `action` with the hidden `fields`, `csrf`, and two buttons named `decision`. */
    readonly consent: (page: ConsentPage) => string
    /** Says that the application asks for a user with another role: the same form, with the button `deny` only. */
    readonly wrongRole: (page: WrongRolePage) => string
    /**
     * The authorised applications. Each has a form to `{frame.base}/account/applications/{application.id}/revoke` with
     * `csrf` and the hidden fields `fieldsOf(application)`. `frame.notice` says what was revoked.
     */
    readonly applications: (page: ApplicationsPage) => string
    /** Says why a page cannot be shown, with the advice of `textsIn(locale).error[kind]`. */
    readonly failure: (page: FailurePage) => string
    /**
     * Sources besides Startlist's own style sheet and images, by directive of the content security policy:
     * `{ "style-src": "'self' https://cdn.club.example" }`.
     */
    readonly sources: Readonly<Record<string, string>>
  }
}

/** Startlist's own templates. Spread them into yours to replace only some pages. */
export const standard: Templates.Service = {
  consent: (page) => render(Consent(page)),
  wrongRole: (page) => render(WrongRole(page)),
  applications: (page) => render(ApplicationList(page)),
  failure: (page) => render(Failure(page)),
  sources: {}
}

/**
 * The templates of the pages for users. By default, Startlist's own.
 *
 * @example
 * ```ts
 * import { Templates } from "@startlist/pages"
 * import { Layer } from "effect"
 *
 * // Startlist's templates with another error page.
 * export const layer = Layer.succeed(Templates.Templates, {
 *   ...Templates.standard,
 *   failure: ({ frame, kind }) =>
 *     `<!doctype html><title>Club</title><h1>${Templates.textsIn(frame.locale).error[kind].title}</h1>`
 * })
 * ```
 */
export class Templates extends Context.Reference<Templates>()("@startlist/pages/Templates", {
  defaultValue: (): Templates.Service => standard
}) {}

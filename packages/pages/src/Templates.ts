/** Templates of the pages that every user meets: for servers that have pages of their own. */
import * as Context from "effect/Context"
import { ApplicationList, type ApplicationsPage } from "./internal/ApplicationList.tsx"
import { Consent, type ConsentPage, WrongRole, type WrongRolePage } from "./internal/Consent.tsx"
import { Failure, type FailurePage } from "./internal/Failure.tsx"
import { render } from "./internal/Page.ts"

export type { ApplicationsPage } from "./internal/ApplicationList.tsx"
export type { ConsentPage, WrongRolePage } from "./internal/Consent.tsx"
export type { FailurePage } from "./internal/Failure.tsx"
export type { Frame } from "./internal/Frame.ts"
export { type Locale, messagesIn } from "./internal/Locale.ts"
export type { Messages } from "./internal/Messages.ts"

export declare namespace Templates {
  /**
   * Each method writes one page: a whole HTML document, by whatever template engine. The rules are applied before: a
   * template is given what may be shown, and only has to write the forms as they are described. Values are not escaped yet.
   */
  export interface Service {
    /** Asks for consent: a form to `action` with the hidden `fields`, `csrf`, and two buttons named `decision`. */
    readonly consent: (page: ConsentPage) => string
    /** Tells that the application asks for a user of another role: the same form, with the button `deny` alone. */
    readonly wrongRole: (page: WrongRolePage) => string
    /**
     * The authorised applications: to each a form to `{frame.base}/account/applications/{application.id}/revoke` with
     * `csrf`.
     */
    readonly applications: (page: ApplicationsPage) => string
    readonly failure: (page: FailurePage) => string
    /**
     * What these pages may load besides our own style sheet and images, by directive of the content security policy:
     * `{ "style-src": "'self' https://cdn.club.example" }`.
     */
    readonly sources: Readonly<Record<string, string>>
  }
}

/** Our own templates, to be spread into those that differ in some pages only. */
export const standard: Templates.Service = {
  consent: (page) => render(Consent(page)),
  wrongRole: (page) => render(WrongRole(page)),
  applications: (page) => render(ApplicationList(page)),
  failure: (page) => render(Failure(page)),
  sources: {}
}

export class Templates extends Context.Reference<Templates>()("@startlist/pages/Templates", {
  defaultValue: (): Templates.Service => standard
}) {}

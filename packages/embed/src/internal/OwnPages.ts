/** The pages for the users and templates of a server. Only processes that mount a page load this module. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Authentication, type SignedIn } from "@startlist/pages/Authentication"
import * as Pages from "@startlist/pages/Pages"
import * as Core from "@startlist/pages/Templates"
import { asked } from "./Asked.ts"
import * as Convert from "./Convert.ts"
import type { SignIn } from "./Options.ts"
import type * as Plain from "./Templates.ts"

const toSignedIn = ({ csrf, user }: SignedIn) => ({ csrf, user: Convert.toUser(user) })

const toFrame = ({ base, has, here, locale, notice, signOutUrl, signedIn }: Core.Frame): Plain.Frame => ({
  base,
  has,
  here,
  locale,
  notice,
  signOutUrl,
  signedIn: Option.getOrUndefined(Option.map(signedIn, toSignedIn))
})

const toConsent = (
  { action, fields, frame, isAllowedBefore, request, signedIn }: Core.ConsentPage
): Plain.ConsentPage => ({
  frame: toFrame(frame),
  application: Convert.toApplication(request.application),
  scope: request.scope,
  redirectUri: request.redirectUri,
  signedIn: toSignedIn(signedIn),
  action,
  fields,
  isAllowedBefore
})

/** Functions of the core's pages that call those of the plain pages. */
const fromTemplates = (
  { applications, consent, failure, sources, wrongRole }: Partial<Plain.Templates>
): Partial<Core.Templates.Service> => ({
  ...(consent && { consent: (page) => consent(toConsent(page)) }),
  ...(wrongRole && { wrongRole: (page) => wrongRole({ ...toConsent(page), requested: page.requested }) }),
  ...(applications && {
    applications: ({ authorized, csrf, fieldsOf, frame, now }) =>
      applications({
        frame: toFrame(frame),
        csrf,
        authorized: authorized.map((one) => ({
          ...Convert.toAuthorization(one, now),
          fields: fieldsOf(one.application)
        }))
      })
  }),
  ...(failure && {
    failure: ({ again, frame, kind, requestId, status }) => {
      const { advice, title, what } = Core.textsIn(frame.locale).error[kind]
      return failure({ frame: toFrame(frame), status, title, explanation: what, advice, again, requestId })
    }
  }),
  ...(sources && { sources })
})

/** The groups of pages, with the users of the server. */
export const make = ({ identify, ...urls }: SignIn, templates: Partial<Plain.Templates> = {}) => {
  const needs = Layer.merge(
    Layer.succeed(Core.Templates, { ...Core.standard, ...fromTemplates(templates) }),
    Layer.succeed(Authentication, {
      ...urls,
      identify: (request) =>
        Effect.map(
          asked(() => identify(request)),
          (known) =>
            Option.map(Option.fromNullable(known), ({ csrf, user }) => ({ csrf, user: Convert.fromUser(user) }))
        )
    })
  )
  const provided = <A, R>(effect: Effect.Effect<A, never, R>) => Effect.provide(effect, needs)
  return {
    consent: provided(Pages.consent),
    account: provided(Pages.account),
    developer: provided(Pages.developer),
    notFound: provided(Pages.notFound)
  }
}

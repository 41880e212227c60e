/** The pages for the users and templates of a server. Only processes that mount a page load this module. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Authentication, type SignedIn } from "@startlist/pages/Authentication"
import * as Pages from "@startlist/pages/Pages"
import * as Core from "@startlist/pages/Templates"
import * as PlatformColor from "@startlist/pages/PlatformColor"
import { demand, text } from "./Check.ts"
import * as Convert from "./Convert.ts"
import { asked } from "./Failure.ts"
import type { Platform, SignIn } from "./Options.ts"
import type { User } from "./Plain.ts"
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

const notEmpty = text("text that is not empty", (given) => given !== "")

/** The returned page. Anything but text, such as a promise, would be shown as an empty page. */
const returned = (name: string, given: string): string => {
  demand(notEmpty, given, `${name}()`)
  return given
}

/** Functions of the core's pages that call those of the plain pages. */
const fromTemplates = (
  { applications, consent, failure, sources, wrongRole }: Partial<Plain.Templates>
): Partial<Core.Templates.Service> => ({
  ...(consent && { consent: (page) => returned("templates.consent", consent(toConsent(page))) }),
  ...(wrongRole && {
    wrongRole: (page) => returned("templates.wrongRole", wrongRole({ ...toConsent(page), requested: page.requested }))
  }),
  ...(applications && {
    applications: ({ authorized, csrf, fieldsOf, frame, now }) =>
      returned(
        "templates.applications",
        applications({
          frame: toFrame(frame),
          csrf,
          authorized: authorized.map((one) => ({
            ...Convert.toAuthorization(one, now),
            fields: fieldsOf(one.application)
          }))
        })
      )
  }),
  ...(failure && {
    failure: ({ again, frame, kind, requestId, status }) => {
      const { advice, title, what } = Core.textsIn(frame.locale).error[kind]
      const page = failure({ frame: toFrame(frame), status, title, explanation: what, advice, again, requestId })
      return returned("templates.failure", page)
    }
  }),
  ...(sources && { sources })
})

/** The user whom `identify` has found. Without its `csrf`, every form would be accepted as genuine. */
const toKnown = ({ csrf, user }: { readonly user: User; readonly csrf: string }): SignedIn => {
  demand(notEmpty, csrf, "identify().csrf")
  return { csrf, user: Convert.fromUser(user, "identify().user") }
}

/** The groups of pages, with the users of the server. */
export const make = (
  { identify, signInUrl, signOutUrl }: SignIn,
  templates: Partial<Plain.Templates> = {},
  { color }: Platform = {}
) => {
  const pale = Option.flatMap(Option.fromNullable(color), PlatformColor.problemOf)
  if (Option.isSome(pale)) throw new TypeError(`platform.color: ${pale.value}`)
  const needs = Layer.merge(
    Layer.succeed(Core.Templates, { ...Core.standard, ...fromTemplates(templates) }),
    Layer.succeed(Authentication, {
      signInUrl: (returnTo, prompt) => returned("signInUrl", signInUrl(returnTo, prompt)),
      signOutUrl,
      identify: (request) =>
        Effect.map(
          asked("identify", () => identify(request)),
          (known) => Option.map(Option.fromNullable(known), toKnown)
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

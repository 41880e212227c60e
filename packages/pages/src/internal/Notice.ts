/**
 * Messages after a form: the address to which it redirects has one. It is signed for the session, so that no link from
 * elsewhere shows a message about something that was not done.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Secrets, shortened } from "@startlist/core/Secrets"
import type { Request } from "@startlist/http/Http"
import type { Fields } from "@startlist/http/Authorization"
import { get, type Parameters, read, write } from "@startlist/http/Parameters"
import type { SignedIn } from "../Authentication.ts"
import { type Locale, textsIn } from "./Locale.ts"
import type { Texts } from "./Texts.ts"

/** Each has a text, about an application, a number, or nothing. */
export type Kind = keyof Texts["notices"]

export interface Notices {
  /** The address of a page that shows the message. */
  readonly address: (path: string, kind: Kind, about: string, signedIn: SignedIn) => string
  /** Hidden fields of a form, for an answer about what is gone when the form arrives for the second time. */
  readonly fields: (kind: Kind, about: string, signedIn: SignedIn) => Fields
  /** The value of `about` in a form with these fields. */
  readonly aboutIn: (parameters: Parameters, kind: Kind, signedIn: SignedIn) => string | undefined
  /** The message of a request, if its address has one of this session. */
  readonly textOf: (request: Request, locale: Locale, signedIn: SignedIn) => string | undefined
}

const isKind = (kind: string): kind is Kind => Object.hasOwn(textsIn("en").notices, kind)

/** The messages, signed with the token of the session. */
export const make: Effect.Effect<Notices, never, Secrets> = Effect.map(Secrets, ({ hash }) => {
  const sign = (kind: Kind, about: string, { csrf }: SignedIn): string =>
    shortened(hash(`notice ${csrf} ${kind} ${about}`))
  const fields: Notices["fields"] = (
    kind,
    about,
    signedIn
  ) => [["about", about], ["proof", sign(kind, about, signedIn)]]
  const aboutIn: Notices["aboutIn"] = (parameters, kind, signedIn) => {
    const about = get(parameters, "about") ?? ""
    return get(parameters, "proof") === sign(kind, about, signedIn) ? about : undefined
  }
  return {
    address: (path, kind, about, signedIn) => `${path}?${write([["notice", kind], ...fields(kind, about, signedIn)])}`,
    fields,
    aboutIn,
    textOf: (request, locale, signedIn) => {
      const parameters = read(request)
      if (request.method !== "GET" || Either.isLeft(parameters)) return undefined
      const kind = get(parameters.right, "notice") ?? ""
      const about = isKind(kind) ? aboutIn(parameters.right, kind, signedIn) : undefined
      return isKind(kind) && about !== undefined ? textsIn(locale).notices[kind](about) : undefined
    }
  }
})

/**
 * Forms: whether one belongs to the session of its sender, keys that make a repeated one harmless, the address after it,
 * and the message there.
 */
import * as Either from "effect/Either"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { header, type Request } from "@startlist/http/Http"
import {
  type Ambiguous,
  get,
  type Parameters,
  read as readParameters,
  readOnce,
  type Unreadable,
  write
} from "@startlist/http/Parameters"
import { type HttpConfig, originOf } from "@startlist/http/HttpConfig"
import { type ClientSecret, live } from "@startlist/core/ApplicationSecret"
import { Secrets, shortened } from "@startlist/core/Secrets"
import type { Fields } from "@startlist/http/Authorization"
import type { SignedIn } from "../Authentication.ts"
import { type Locale, textsIn } from "./Locale.ts"
import type { Texts } from "./English.ts"

/** The parameters of a form, and whether it carries the token of the session. */
export interface Posted {
  readonly parameters: Parameters
  /**
   * Whether the form comes from this service, and from this session or an earlier one of the same user in this browser.
   * Otherwise it must not change anything.
   */
  readonly isGenuine: (csrf: string) => boolean
  /** Whether the browser says that the form comes from this origin (Fetch Metadata): then it is ours. */
  readonly isOurs: boolean
}

/** Reads a form. With `known`, only these fields must not repeat. */
export const read = (
  request: Request,
  config: HttpConfig.Service,
  known?: ReadonlyArray<string>
): Either.Either<Posted, Unreadable | Ambiguous> =>
  Either.map(readOnce(request, known), (parameters) => {
    const sent = get(parameters, "csrf") ?? ""
    const isOurs = header(request, "sec-fetch-site") === "same-origin"
    return {
      parameters,
      isOurs,
      isGenuine: (csrf) =>
        isSameOrigin(request, config) &&
        (isEqual(sent, csrf) || isOurs && userOf(csrf) !== "" && userOf(sent) === userOf(csrf))
    }
  })

/** The user of a form token by `Sessions.csrfOf`. Other tokens have none. */
const userOf = (csrf: string): string => /^for-\d+\./.exec(csrf)?.[0] ?? ""

/**
 * Whether the browser names no other origin as that of the form. Our pages have the referrer policy `no-referrer`, so
 * browsers send `null` from them: then only the token decides.
 */
const isSameOrigin = (request: Request, config: HttpConfig.Service): boolean => {
  if (header(request, "sec-fetch-site") === "cross-site") return false
  const origin = header(request, "origin")
  if (origin === undefined || origin === "null" || origin === originOf(config)) return true
  const host = header(request, "host")
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)
}

/** Compares in constant time, which does not reveal the place of a difference. */
const isEqual = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1))
  return difference === 0 && b !== ""
}

/** A path, with a query if any, in printable ASCII. A second slash or backslash would name a host. */
const local = /^\/(?![/\\])[!-~]*$/

/** Maximum length of an address that the sign-in page carries: it leaves 4 KiB of Node's 16 KiB for other headers. */
export const maxReturnLength = 12_288

/** The address after a form, if it is a path of this service, else `otherwise`: an open redirect would help phishing. */
export const safeReturn = (returnTo: string | undefined, otherwise: string): string =>
  returnTo !== undefined && returnTo.length <= maxReturnLength && local.test(returnTo) && !returnTo.includes("\\")
    ? returnTo
    : otherwise

/** Age in milliseconds, also in the future of a slower node, at which a form must be loaded again. */
const maxKeyAge = 60 * 60 * 1000

/** The time of the form, and at least 256 bits. */
const keyPattern = /^([0-9a-z]{1,10})\.[\w-]{1,80}$/

/**
 * Keys of the forms that make a secret. A browser shows only the last answer to a form that is sent twice, so both must
 * have the same one. The secret is derived from the key, and nothing is stored: any node can repeat the answer.
 */
export interface FormKeys {
  /** A key for a new form. */
  readonly make: Effect.Effect<string>
  /** The secret of a form with this key and these values, unless the form is too old. */
  readonly secretOf: (
    key: string | undefined,
    ...values: ReadonlyArray<string | number>
  ) => Effect.Effect<Option.Option<Redacted.Redacted<string>>>
  /** Whether these are the secrets of an application that an earlier form has given this one, and it is live. */
  readonly isIn: (secrets: ReadonlyArray<ClientSecret>, secret: Redacted.Redacted<string>) => Effect.Effect<boolean>
}

/** The keys, derived from those of the service. */
export const makeKeys: Effect.Effect<FormKeys, never, Secrets> = Effect.map(Secrets, ({ hash, keys, make }) => ({
  make: Effect.zipWith(
    DateTime.now,
    make("claim"),
    (now, random) => `${now.epochMillis.toString(36)}.${Redacted.value(random)}`
  ),
  secretOf: (key = "", ...values) =>
    Effect.map(DateTime.now, ({ epochMillis }) => {
      const [, made = ""] = keyPattern.exec(key) ?? []
      return Math.abs(epochMillis - Number.parseInt(made, 36)) <= maxKeyAge
        ? Option.some(keys[0].deriveSecret([key, ...values].join("\n")))
        : Option.none()
    }),
  isIn: (secrets, secret) =>
    Effect.map(DateTime.now, (now) => {
      const wanted = hash(Redacted.value(secret))
      return live(secrets, now).some((one) => one.hash === wanted)
    })
}))

/** Kinds of messages after a form. Each has a text, about an application, a number, or nothing. */
export type NoticeKind = keyof Texts["notices"]

/**
 * Messages after a form: the address to which it redirects has one. It is signed for the session, so that no link from
 * elsewhere shows a message about something that was not done.
 */
export interface Notices {
  /** The address of a page that shows the message. */
  readonly address: (path: string, kind: NoticeKind, about: string, signedIn: SignedIn) => string
  /** Hidden fields of a form, for an answer about what is gone when the form arrives for the second time. */
  readonly fields: (kind: NoticeKind, about: string, signedIn: SignedIn) => Fields
  /** The value of `about` in a form with these fields. */
  readonly aboutIn: (parameters: Parameters, kind: NoticeKind, signedIn: SignedIn) => string | undefined
  /** The message of a request, if its address has one of this session. */
  readonly textOf: (request: Request, locale: Locale, signedIn: SignedIn) => string | undefined
}

const isKind = (kind: string): kind is NoticeKind => Object.hasOwn(textsIn("en").notices, kind)

/** The messages, signed with the token of the session. */
export const makeNotices: Effect.Effect<Notices, never, Secrets> = Effect.map(Secrets, ({ hash }) => {
  const sign = (kind: NoticeKind, about: string, { csrf }: SignedIn): string =>
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
      const parameters = readParameters(request)
      if (request.method !== "GET" || Either.isLeft(parameters)) return undefined
      const kind = get(parameters.right, "notice") ?? ""
      const about = isKind(kind) ? aboutIn(parameters.right, kind, signedIn) : undefined
      return isKind(kind) && about !== undefined ? textsIn(locale).notices[kind](about) : undefined
    }
  }
})

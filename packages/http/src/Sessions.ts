/** The service's own visitors: a session cookie over `Accounts`. */
import { parseCookie, stringifySetCookie } from "cookie"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Secrets } from "@startlist/core/Secrets"
import { Accounts } from "./Accounts.ts"
import { header, type Request } from "./Message.ts"
import { write } from "./Parameters.ts"
import { Site } from "./Site.ts"
import { Visitors } from "./Visitors.ts"

/** Over https the name itself promises that the cookie is ours alone: no subdomain, no plain http (RFC 6265bis). */
const nameAt = (authUrl: string): string =>
  authUrl.startsWith("https://") ? "__Host-startlist_session" : "startlist_session"

/** The session value of a request, signed in or not. */
export const sessionOf = (request: Request, { authUrl }: Site.Service): Option.Option<Redacted.Redacted<string>> =>
  Option.map(
    Option.fromNullable(parseCookie(header(request, "cookie") ?? "")[nameAt(authUrl)] || undefined),
    Redacted.make
  )

/** Sets the session cookie; it lives as long as the browser, and no script reads it. */
export const setCookie = (session: Redacted.Redacted<string>, { authUrl }: Site.Service): string =>
  stringifySetCookie({
    name: nameAt(authUrl),
    value: Redacted.value(session),
    path: "/",
    httpOnly: true,
    sameSite: "lax",
    secure: authUrl.startsWith("https://")
  })

/** Removes it. */
export const clearCookie = ({ authUrl }: Site.Service): string =>
  stringifySetCookie({
    name: nameAt(authUrl),
    value: "",
    path: "/",
    maxAge: 0,
    httpOnly: true,
    sameSite: "lax",
    secure: authUrl.startsWith("https://")
  })

/** The form token of a session: unguessable as the session value is, and nothing leads back from it. */
export const csrfOf = (session: Redacted.Redacted<string>, secrets: Secrets.Service): string =>
  secrets.hash(`csrf:${Redacted.value(session)}`)

/** Visitors by their session cookie; they sign in at `/login` and out at `/logout`. */
export const layer: Layer.Layer<Visitors, never, Accounts | Secrets> = Layer.effect(
  Visitors,
  Effect.gen(function*() {
    const accounts = yield* Accounts
    const secrets = yield* Secrets
    const site = yield* Site
    return {
      identify: (request) =>
        Option.match(sessionOf(request, site), {
          onNone: () => Effect.succeedNone,
          onSome: (session) =>
            Effect.map(
              accounts.findSession(session),
              Option.map((user) => ({ user, csrf: csrfOf(session, secrets) }))
            )
        }),
      signInUrl: (returnTo) => `/login?${write([["return_to", returnTo]])}`,
      signOutUrl: "/logout"
    }
  })
)

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
import { basePath, Site } from "./Site.ts"
import { Visitors } from "./Visitors.ts"

const isSecure = ({ authUrl }: Site.Service): boolean => authUrl.startsWith("https://")

/** Where the cookie is sent: to us alone, not to the rest of the server in which we are mounted. */
const pathOf = (site: Site.Service): string => basePath(site) || "/"

/**
 * Over https the name itself promises that the cookie is ours alone: no plain http, and no subdomain, which the promise
 * can say only of a cookie for the whole host (RFC 6265bis).
 */
const nameAt = (site: Site.Service): string =>
  !isSecure(site) ? "startlist_session" : `__${pathOf(site) === "/" ? "Host" : "Secure"}-startlist_session`

/** The session value of a request, signed in or not. */
export const sessionOf = (request: Request, site: Site.Service): Option.Option<Redacted.Redacted<string>> =>
  Option.map(
    Option.fromNullable(parseCookie(header(request, "cookie") ?? "")[nameAt(site)] || undefined),
    Redacted.make
  )

/** Sets the session cookie; it lives as long as the browser, and no script reads it. */
export const setCookie = (session: Redacted.Redacted<string>, site: Site.Service): string =>
  stringifySetCookie({
    name: nameAt(site),
    value: Redacted.value(session),
    path: pathOf(site),
    httpOnly: true,
    sameSite: "lax",
    secure: isSecure(site)
  })

/** Removes it. */
export const clearCookie = (site: Site.Service): string =>
  stringifySetCookie({
    name: nameAt(site),
    value: "",
    path: pathOf(site),
    maxAge: 0,
    httpOnly: true,
    sameSite: "lax",
    secure: isSecure(site)
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
      signInUrl: (returnTo) => `${basePath(site)}/login?${write([["return_to", returnTo]])}`,
      signOutUrl: `${basePath(site)}/logout`
    }
  })
)

/** The service's own visitors: a session cookie over `Accounts`. */
import { parseCookie, stringifySetCookie } from "cookie"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Secrets } from "@startlist/core/Secrets"
import { Accounts } from "./Accounts.ts"
import { header, type Request } from "@startlist/http/Message"
import { write } from "@startlist/http/Parameters"
import { basePath, Site } from "@startlist/http/Site"
import { Visitors } from "./Visitors.ts"

const isSecure = ({ authUrl }: Site.Service): boolean => authUrl.startsWith("https://")

/** Where the cookie is sent: to us alone, not to the rest of the server in which we are mounted. */
const pathOf = (site: Site.Service): string => basePath(site) || "/"

/** The session ends with the browser. The device cookie outlives it: it limits guesses, and signs nobody in. */
type Kind = "session" | "device"

/** How long a browser counts as known after its last sign-in. */
export const deviceLifetime = Duration.days(180)

/**
 * Over https the name itself promises that the cookie is ours alone: no plain http, and no subdomain, which the promise
 * can say only of a cookie for the whole host (RFC 6265bis).
 */
const nameAt = (kind: Kind, site: Site.Service): string =>
  !isSecure(site) ? `startlist_${kind}` : `__${pathOf(site) === "/" ? "Host" : "Secure"}-startlist_${kind}`

const cookieOf = (kind: Kind, request: Request, site: Site.Service): Option.Option<Redacted.Redacted<string>> =>
  Option.map(
    Option.fromNullable(parseCookie(header(request, "cookie") ?? "")[nameAt(kind, site)] || undefined),
    Redacted.make
  )

const stringify = (kind: Kind, value: string, site: Site.Service, maxAge: { readonly maxAge?: number }): string =>
  stringifySetCookie({
    name: nameAt(kind, site),
    value,
    path: pathOf(site),
    ...maxAge,
    httpOnly: true,
    sameSite: "lax",
    secure: isSecure(site)
  })

/** The session value of a request, signed in or not. */
export const sessionOf = (request: Request, site: Site.Service): Option.Option<Redacted.Redacted<string>> =>
  cookieOf("session", request, site)

/** Sets the session cookie; it lives as long as the browser, and no script reads it. */
export const setCookie = (session: Redacted.Redacted<string>, site: Site.Service): string =>
  stringify("session", Redacted.value(session), site, {})

/** Removes it. */
export const clearCookie = (site: Site.Service): string => stringify("session", "", site, { maxAge: 0 })

/** The device cookie of a request (OWASP): see `Accounts.recognizeBrowser`. */
export const deviceOf = (request: Request, site: Site.Service): Option.Option<Redacted.Redacted<string>> =>
  cookieOf("device", request, site)

/** Sets the device cookie. */
export const setDeviceCookie = (value: Redacted.Redacted<string>, site: Site.Service): string =>
  stringify("device", Redacted.value(value), site, { maxAge: Duration.toSeconds(deviceLifetime) })

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

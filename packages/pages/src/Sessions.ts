/** The service's own authentication of browsers: a session cookie over `Accounts`. */
import { parseCookie, stringifySetCookie } from "cookie"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Secrets } from "@startlist/core/Secrets"
import type { User } from "@startlist/core/User"
import { Accounts } from "./Accounts.ts"
import { header, type Request } from "@startlist/http/Http"
import { write } from "@startlist/http/Parameters"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { Authentication } from "./Authentication.ts"

const isSecure = ({ authUrl }: HttpConfig.Service): boolean => authUrl.startsWith("https://")

/** Path of the cookie: not the rest of the server in which Startlist is mounted. */
const pathOf = (config: HttpConfig.Service): string => basePath(config) || "/"

/** The session ends with the browser. The device cookie outlives it: it limits guesses, and signs nobody in. */
type Kind = "session" | "device"

/** How long a browser counts as known after its last sign-in. */
export const deviceLifetime = Duration.days(180)

/**
 * Over https, the prefix of the name excludes cookies from plain http, and `__Host-` also from subdomains (RFC
 * 6265bis).
 */
const nameAt = (kind: Kind, config: HttpConfig.Service): string =>
  !isSecure(config) ? `startlist_${kind}` : `__${pathOf(config) === "/" ? "Host" : "Secure"}-startlist_${kind}`

const cookieOf = (kind: Kind, request: Request, config: HttpConfig.Service): Option.Option<Redacted.Redacted<string>> =>
  Option.map(
    Option.fromNullable(parseCookie(header(request, "cookie") ?? "")[nameAt(kind, config)] || undefined),
    Redacted.make
  )

const stringify = (
  kind: Kind,
  value: string,
  config: HttpConfig.Service,
  maxAge: { readonly maxAge?: number }
): string =>
  stringifySetCookie({
    name: nameAt(kind, config),
    value,
    path: pathOf(config),
    ...maxAge,
    httpOnly: true,
    sameSite: "lax",
    secure: isSecure(config)
  })

/** The session value of a request, signed in or not. */
export const sessionOf = (request: Request, config: HttpConfig.Service): Option.Option<Redacted.Redacted<string>> =>
  cookieOf("session", request, config)

/** Sets the session cookie. It ends with the browser, and scripts cannot read it. */
export const setCookie = (session: Redacted.Redacted<string>, config: HttpConfig.Service): string =>
  stringify("session", Redacted.value(session), config, {})

/** Removes the session cookie. */
export const clearCookie = (config: HttpConfig.Service): string => stringify("session", "", config, { maxAge: 0 })

/** The device cookie of a request (OWASP): see `Accounts.recognizeBrowser`. */
export const deviceOf = (request: Request, config: HttpConfig.Service): Option.Option<Redacted.Redacted<string>> =>
  cookieOf("device", request, config)

/** Sets the device cookie. */
export const setDeviceCookie = (value: Redacted.Redacted<string>, config: HttpConfig.Service): string =>
  stringify("device", Redacted.value(value), config, { maxAge: Duration.toSeconds(deviceLifetime) })

/** The form token of a session, which names its user. The session value cannot be derived from it. */
export const csrfOf = (session: Redacted.Redacted<string>, secrets: Secrets.Service, user?: User): string =>
  (user === undefined ? "" : `for-${user.id}.`) + secrets.hash(`csrf:${Redacted.value(session)}`)

/** Authentication by the session cookie, with sign-in at `/login` and sign-out at `/logout`. */
export const layer: Layer.Layer<Authentication, never, Accounts | HttpConfig | Secrets> = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const accounts = yield* Accounts
    const secrets = yield* Secrets
    const config = yield* HttpConfig
    return {
      identify: (request) =>
        Option.match(sessionOf(request, config), {
          onNone: () => Effect.succeedNone,
          onSome: (session) =>
            Effect.map(
              accounts.findSession(session),
              Option.map((user) => ({ user, csrf: csrfOf(session, secrets, user) }))
            )
        }),
      signInUrl: (returnTo, prompt) =>
        `${basePath(config)}/login?${
          write([["return_to", returnTo], ...(prompt === undefined ? [] : [["prompt", prompt] as const])])
        }`,
      signOutUrl: `${basePath(config)}/logout`
    }
  })
)

/** `/login`: sign-in with e-mail address and password. */
import * as Option from "effect/Option"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Authorization from "@startlist/http/Authorization"
import type { Fields } from "@startlist/http/Authorization"
import type { OAuth } from "@startlist/core/OAuth"
import { Secrets } from "@startlist/core/Secrets"
import { User, type UserStore } from "@startlist/core/User"
import { type Action, Audit, Entry, Party, uninterrupted } from "@startlist/core/Audit"
import { networkOf } from "@startlist/http/ClientAddress"
import { header, redirect, type Request, type Response } from "@startlist/http/Http"
import { get, read, readOnce, write } from "@startlist/http/Parameters"
import type { Endpoint, Route } from "@startlist/http/Router"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import { ErrorSummary, Field, Form } from "./Elements.tsx"
import { Layout } from "./Layout.tsx"
import type { Texts } from "./English.ts"
import { Accounts, type PasswordCheck } from "../Accounts.ts"
import { clearCookie, csrfOf, deviceOf, sessionOf, setCookie, setDeviceCookie } from "../Sessions.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Forms from "./Forms.ts"
import * as SignInLimit from "../SignInLimit.ts"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"

/** Why the form is shown again. */
type Problem =
  | { readonly kind: "wrong" | "emailMissing" | "passwordMissing" | "stale" }
  | { readonly kind: "wait"; readonly seconds: number }

const sentenceOf = (login: Texts["login"], problem: Problem): string =>
  problem.kind === "wait" ? login.wait(problem.seconds) : login[problem.kind]

/** The field of a problem, if it concerns one field. */
const fields: Readonly<Record<Problem["kind"], string | undefined>> = {
  wrong: "email",
  emailMissing: "email",
  passwordMissing: "password",
  stale: undefined,
  wait: undefined
}

const LoginForm = ({ application, csrf, email, frame, hidden, problem }: {
  readonly frame: Page.Frame
  readonly csrf: string
  /** Hidden fields: `return_to`, and `prompt` if the user must sign in again. */
  readonly hidden: Fields
  readonly email: string
  /** The name of the application whose consent page follows. */
  readonly application: Option.Option<string>
  readonly problem: Problem | undefined
}) => {
  const { login } = Locale.textsIn(frame.locale)
  const summaryOf = (name: string) =>
    problem !== undefined && (problem.kind === "wrong" || fields[problem.kind] === name) ? "problem" : undefined
  return (
    <Layout frame={frame} title={login.title} isError={problem !== undefined} narrow>
      {problem === undefined ? null : (
        <ErrorSummary
          id="problem"
          title={login.problem}
          problems={[[fields[problem.kind], sentenceOf(login, problem)]]}
        />
      )}
      {Option.match(application, {
        onNone: () => null,
        onSome: (name) => <p class="lead">{login.onTheWay(name)}</p>
      })}
      <article>
        <p class="muted">{login.explanation(frame.brand.name)}</p>
        <Form action={`${frame.base}/login`} csrf={csrf} hidden={hidden}>
          <Field
            name="email"
            label={login.email}
            type="email"
            autocomplete="username"
            required
            value={email}
            summary={summaryOf("email")}
          />
          <Field
            name="password"
            label={login.password}
            type="password"
            autocomplete="current-password"
            required
            summary={summaryOf("password")}
          />
          <button type="submit">{login.submit}</button>
        </Form>
      </article>
    </Layout>
  )
}

/** The parameters of the page that follows sign-in. */
const followingOf = (request: Request, returnTo: string) =>
  read({ ...request, query: /\?([^#]*)/.exec(returnTo)?.[1] ?? "", body: new Uint8Array() })

const isEmail = Schema.is(User.fields.email)

/** The account of a failed sign-in. The typed address is not recorded: people type passwords into this field. */
const claimed = (check: PasswordCheck): Party =>
  check._tag === "Unknown" ? Party.Unknown() : Party.User({ userId: check.user.id })

/** The routes of sign-in and sign-out. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Accounts | Audit | FailureLimit | HttpConfig | OAuth | Secrets | UserStore
> = Effect.gen(function*() {
  const accounts = yield* Accounts
  const secrets = yield* Secrets
  const limit = yield* SignInLimit.make
  const audit = yield* Audit
  const config = yield* HttpConfig
  const frameOf = yield* Page.makeFrame
  const { forged, refuse } = yield* ErrorPage.make
  const authorization = yield* Authorization.make
  const base = basePath(config)
  const signInUrl = `${base}/login`
  /** The next page of a user who came without `return_to`. */
  const home = `${base}/account/applications`

  const record = (action: Action, actor: Party, { address }: Request, subject = actor) =>
    Effect.flatMap(DateTime.now, (at) => audit.record(Entry.Acted({ at, action, actor, subject, address })))

  /** A browser without a session gets the value of an anonymous one, to which the form's token is bound. */
  const show = (request: Request, shown: {
    readonly status: number
    readonly returnTo: string
    /** Whether the application wants the user to sign in again. */
    readonly isAgain: boolean
    readonly email?: string
    readonly problem?: Problem
    readonly headers?: Response["headers"]
  }) =>
    Effect.gen(function*() {
      const present = sessionOf(request, config)
      const session = Option.isSome(present) ? present.value : yield* secrets.make("claim")
      const following = followingOf(request, shown.returnTo)
      const parameter = (name: string) => Either.isRight(following) ? get(following.right, name) : undefined
      const asked = shown.returnTo.startsWith(`${base}/oauth/authorize?`)
        ? yield* Effect.option(Effect.flatMap(following, authorization.check))
        : Option.none()
      // OpenID Connect Core §3.1.2.1. Other identifiers than e-mail addresses would only be in the way.
      const hint = Option.filter(Option.fromNullable(parameter("login_hint")), isEmail)
      const hidden: Fields = [["return_to", shown.returnTo], ...(shown.isAgain ? [["prompt", "login"] as const] : [])]
      const frame = frameOf({
        // The page that follows sign-in has the same language.
        locale: Locale.of(request, parameter("locale")),
        here: `${signInUrl}?${write(hidden)}`,
        signedIn: Option.none(),
        signOutUrl: `${base}/logout`
      })
      const form = LoginForm({
        frame,
        csrf: csrfOf(session, secrets),
        hidden,
        email: shown.email ?? Option.getOrElse(hint, () => ""),
        application: Option.map(asked, ({ application }) => application.name),
        problem: shown.problem
      })
      return Page.html(shown.status, form, {
        headers: { ...shown.headers, ...(Option.isSome(present) ? {} : { "set-cookie": setCookie(session, config) }) }
      })
    })

  const visit: Endpoint = (request) =>
    Effect.gen(function*() {
      const parameters = yield* readOnce(request)
      const returnTo = Forms.safeReturn(get(parameters, "return_to"), home)
      const isAgain = get(parameters, "prompt") === "login"
      const session = sessionOf(request, config)
      const user = Option.isSome(session) ? yield* accounts.findSession(session.value) : Option.none()
      return Option.isSome(user) && !isAgain
        ? redirect(returnTo)
        : yield* show(request, { status: 200, returnTo, isAgain })
    })

  const signIn: Endpoint = (request) =>
    Effect.gen(function*() {
      const { isGenuine, isOurs, parameters } = yield* Forms.read(request, config)
      const returnTo = Forms.safeReturn(get(parameters, "return_to"), home)
      const isAgain = get(parameters, "prompt") === "login"
      const email = get(parameters, "email")?.trim() ?? ""
      const password = get(parameters, "password") ?? ""
      const session = sessionOf(request, config)
      if (!Option.exists(session, (value) => isOurs || isGenuine(csrfOf(value, secrets)))) {
        // Another tab has signed in, or the form was sent twice.
        const user = Option.isSome(session) ? yield* accounts.findSession(session.value) : Option.none()
        if (Option.isSome(user) && !isAgain) return redirect(returnTo)
        return yield* show(request, { status: 403, returnTo, isAgain, email, problem: { kind: "stale" } })
      }
      if (email === "") {
        return yield* show(request, { status: 422, returnTo, isAgain, email, problem: { kind: "emailMissing" } })
      }
      if (password === "") {
        return yield* show(request, { status: 422, returnTo, isAgain, email, problem: { kind: "passwordMissing" } })
      }

      const guess = yield* limit.limited(
        request,
        email,
        accounts.verifyPassword(email, Redacted.make(password)),
        (check) => check._tag !== "Correct"
      )
      if ("wait" in guess) {
        const seconds = Math.ceil(Duration.toSeconds(guess.wait))
        const headers = { "retry-after": String(seconds) }
        return yield* show(request, {
          status: 429,
          returnTo,
          isAgain,
          email,
          problem: { kind: "wait", seconds },
          headers
        })
      }
      const check = guess.checked
      const refused = Effect.zipRight(
        record("login_failed", Party.Unknown(), request, claimed(check)),
        show(request, { status: 403, returnTo, isAgain, email, problem: { kind: "wrong" } })
      )
      if (check._tag !== "Correct") {
        return yield* refused
      }
      // A new value at each sign-in: a value that an attacker planted in this browser becomes useless.
      if (Option.isSome(session)) {
        yield* accounts.endSession(session.value)
      }
      const { user } = check
      const origin = { device: describeBrowser(header(request, "user-agent")), network: networkOf(request.address) }
      const fresh = yield* uninterrupted(
        Effect.tap(accounts.startSession(check, origin), (started) =>
          Option.isSome(started) ? record("login", Party.User({ userId: user.id }), request) : Effect.void)
      )
      if (Option.isNone(fresh)) {
        return yield* refused
      }
      const known = yield* accounts.rememberBrowser(user, deviceOf(request, config))
      return redirect(returnTo, { "set-cookie": [setCookie(fresh.value, config), setDeviceCookie(known, config)] })
    })

  const signOut: Endpoint = (request) =>
    Effect.gen(function*() {
      const { isGenuine, isOurs, parameters } = yield* Forms.read(request, config)
      const session = sessionOf(request, config)
      if (Option.isSome(session)) {
        const user = yield* accounts.findSession(session.value)
        const csrf = csrfOf(session.value, secrets, Option.getOrUndefined(user))
        if (!isOurs && !isGenuine(csrf)) return forged(request)
        yield* accounts.endSession(session.value)
        if (Option.isSome(user)) yield* record("logout", Party.User({ userId: user.value.id }), request)
      }
      const returnTo = Forms.safeReturn(get(parameters, "return_to"), signInUrl)
      return redirect(returnTo, { "set-cookie": clearCookie(config) })
    })

  return [
    { path: "/login", methods: { GET: visit, POST: signIn }, refuse },
    { path: "/logout", methods: { POST: signOut }, refuse }
  ]
})

/** The first pattern that fits. Most browsers also name those whose pages they imitate. */
const nameIn = (userAgent: string, names: ReadonlyArray<readonly [pattern: RegExp, name: string]>): string =>
  names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? ""

const browsers = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\/|Opera/, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|Chromium\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"]
] as const

const systems = [
  [/iPhone|iPod/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"]
] as const

/**
 * Browser and system of a `User-Agent`, by which its user recognizes a session: `Firefox, Windows`. Empty if neither is
 * known. The raw text is not stored.
 */
export const describeBrowser = (userAgent = ""): string => {
  const start = userAgent.slice(0, 500)
  return [nameIn(start, browsers), nameIn(start, systems)].filter((name) => name !== "").join(", ")
}

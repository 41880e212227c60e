/** `/account/security`: a user's password and sessions. `/reset-password`: the target of an operator's link. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Secrets } from "@startlist/core/Secrets"
import type { StoreError } from "@startlist/core/Store"
import type { User, UserId } from "@startlist/core/User"
import { type Action, Audit, Entry, Party, uninterrupted } from "@startlist/core/Audit"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { redirect, type Request, type Response } from "@startlist/http/Http"
import { get, type Parameters, readOnce, write } from "@startlist/http/Parameters"
import { Malformed, type Refusal } from "@startlist/http/Refusal"
import type { Endpoint, Route } from "@startlist/http/Router"
import type { FailureLimit } from "@startlist/http/FailureLimit"
import { Accounts, type PasswordChange } from "../Accounts.ts"
import { csrfOf, sessionOf } from "../Sessions.ts"
import * as ErrorPage from "./ErrorPage.ts"
import * as Forms from "./Forms.ts"
import * as SignInLimit from "../SignInLimit.ts"
import * as Locale from "./Locale.ts"
import * as Page from "./Page.ts"
import { type Problem, ResetView, SecurityView } from "./SecurityView.tsx"

const path = "/account/security"

const resetPath = "/reset-password"

/** A signed-in user, and the value of the session. */
interface Visitor {
  readonly user: User
  readonly session: Redacted.Redacted<string>
  readonly csrf: string
}

type Answer = Effect.Effect<Response, Refusal | StoreError>

/** The routes of passwords and sessions. */
export const make: Effect.Effect<
  ReadonlyArray<Route>,
  never,
  Accounts | Audit | FailureLimit | HttpConfig | Secrets
> = Effect.gen(function*() {
  const accounts = yield* Accounts
  const secrets = yield* Secrets
  const limit = yield* SignInLimit.make
  const audit = yield* Audit
  const config = yield* HttpConfig
  const frameOf = yield* Page.makeFrame
  const errors = yield* ErrorPage.make
  const notices = yield* Forms.makeNotices
  const base = basePath(config)
  const here = base + path

  const record = (request: Request, action: Action, userId: UserId) =>
    Effect.flatMap(DateTime.now, (at) => {
      const actor = Party.User({ userId })
      return audit.record(Entry.Acted({ at, action, actor, subject: actor, address: request.address }))
    })

  const withVisitor = (request: Request, serve: (visitor: Visitor) => Answer): Answer =>
    Effect.gen(function*() {
      const session = sessionOf(request, config)
      const user = Option.isSome(session) ? yield* accounts.findSession(session.value) : Option.none()
      return Option.isSome(session) && Option.isSome(user)
        ? yield* serve({ user: user.value, session: session.value, csrf: csrfOf(session.value, secrets, user.value) })
        : errors.signIn(request, `${base}/login?${write([["return_to", here]])}`)
    })

  const posted = (request: Request, serve: (visitor: Visitor, parameters: Parameters) => Answer): Answer =>
    withVisitor(
      request,
      (visitor) =>
        Effect.flatMap(Forms.read(request, config), ({ isGenuine, parameters }) =>
          isGenuine(visitor.csrf) ? serve(visitor, parameters) : Effect.succeed(errors.forged(request, here)))
    )

  const show = (
    request: Request,
    { csrf, session, user }: Visitor,
    status: number,
    problem?: Problem,
    headers: Response["headers"] = {}
  ) =>
    Effect.map(accounts.listSessions(user.id), (sessions) => {
      const locale = Locale.of(request)
      const frame = frameOf({
        locale,
        here,
        signedIn: Option.some({ user, csrf }),
        signOutUrl: `${base}/logout`,
        notice: notices.textOf(request, locale, { user, csrf })
      })
      return Page.html(
        status,
        SecurityView({ csrf, email: user.email, frame, own: accounts.idOf(session), problem, sessions }),
        { headers }
      )
    })

  const visit: Endpoint = (request) => withVisitor(request, (visitor) => show(request, visitor, 200))

  /** A form that is sent twice finds the new password in place. */
  const orRepeated = (email: string, next: string) => (change: PasswordChange) =>
    Effect.gen(function*() {
      if (change._tag !== "Refused") return change
      const { _tag } = yield* accounts.verifyPassword(email, Redacted.make(next))
      return _tag === "Correct" ? { _tag: "Repeated" as const } : change
    })

  const changePassword: Endpoint = (request) =>
    posted(request, (visitor, parameters) =>
      Effect.gen(function*() {
        const { session, user } = visitor
        const present = get(parameters, "present") ?? ""
        const next = get(parameters, "password") ?? ""
        if (present === "" || next === "") return yield* show(request, visitor, 422, { kind: "missing" })
        const change = accounts.changePassword(session, { present: Redacted.make(present), next: Redacted.make(next) })
        const guess = yield* limit.limited(
          request,
          user.email,
          uninterrupted(
            Effect.tap(
              change,
              ({ _tag }) => _tag === "Changed" ? record(request, "password_changed", user.id) : Effect.void
            )
          ).pipe(Effect.flatMap(orRepeated(user.email, next))),
          ({ _tag }) => _tag === "Refused"
        )
        if ("wait" in guess) {
          const seconds = Math.ceil(Duration.toSeconds(guess.wait))
          return yield* show(request, visitor, 429, { kind: "wait", seconds }, { "retry-after": String(seconds) })
        }
        switch (guess.checked._tag) {
          case "Changed":
          case "Repeated":
            return redirect(notices.address(here, "passwordChanged", "", visitor))
          case "Refused":
            return yield* show(request, visitor, 403, { kind: "wrong" })
          case "Unacceptable":
            return yield* show(request, visitor, 422, { kind: "unacceptable" })
        }
      }))

  const endSessions: Endpoint = (request) =>
    posted(request, (visitor, parameters) =>
      Effect.gen(function*() {
        const { session, user } = visitor
        const id = get(parameters, "session")
        if (id === undefined) return yield* new Malformed({ what: "session" })
        const end = id === "others" ? accounts.endOthers(user.id, session) : accounts.endById(user.id, id)
        yield* uninterrupted(Effect.tap(end, record(request, "sessions_ended", user.id)))
        return redirect(notices.address(here, "sessionEnded", "", visitor))
      }))

  const showReset = (
    request: Request,
    token: string,
    status: number,
    state: "open" | "done" | "refused" | "unacceptable",
    email = ""
  ) => {
    const frame = frameOf({
      locale: Locale.of(request),
      here: `${base}${resetPath}?${write([["token", token]])}`,
      signedIn: Option.none(),
      signOutUrl: `${base}/logout`
    })
    return Page.html(status, ResetView({ csrf: csrfOf(Redacted.make(token), secrets), email, frame, state, token }))
  }

  const visitReset: Endpoint = (request) =>
    Effect.gen(function*() {
      const token = get(yield* readOnce(request), "token") ?? ""
      const user = yield* accounts.findReset(Redacted.make(token))
      return Option.match(user, {
        onNone: () => showReset(request, "", 410, "refused"),
        onSome: ({ email }) => showReset(request, token, 200, "open", email)
      })
    })

  const reset: Endpoint = (request) =>
    Effect.gen(function*() {
      const { isGenuine, parameters } = yield* Forms.read(request, config)
      const token = get(parameters, "token") ?? ""
      const value = Redacted.make(token)
      if (!isGenuine(csrfOf(value, secrets))) return errors.forged(request)
      const user = yield* accounts.findReset(value)
      if (Option.isNone(user)) return showReset(request, "", 410, "refused")
      const change = accounts.resetPassword(value, Redacted.make(get(parameters, "password") ?? ""))
      const { _tag } = yield* uninterrupted(
        Effect.tap(change, ({ _tag }) =>
          _tag === "Changed" ? record(request, "password_reset", user.value.id) : Effect.void)
      )
      switch (_tag) {
        case "Changed":
          return showReset(request, "", 200, "done")
        case "Refused":
          return showReset(request, "", 410, "refused")
        case "Unacceptable":
          return showReset(request, token, 422, "unacceptable", user.value.email)
      }
    })

  return [
    { path, methods: { GET: visit }, refuse: errors.refuse },
    { path: `${path}/password`, methods: { POST: changePassword }, refuse: errors.refuse },
    { path: `${path}/sessions`, methods: { POST: endSessions }, refuse: errors.refuse },
    { path: resetPath, methods: { GET: visitReset, POST: reset }, refuse: errors.refuse }
  ]
})

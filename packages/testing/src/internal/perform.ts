/** Carries commands out on the services of the core, and says what happened. */
import { OAuth } from "@startlist/core/OAuth"
import type { Tokens } from "@startlist/core/Token"
import { Secrets } from "@startlist/core/Secrets"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Command from "../Command.ts"
import { type Cast, choose, type KnownToken, type Ledger } from "./ledger.ts"
import { mark } from "../TestSecrets.ts"
import { nothing, outcome, type Performed, push } from "./performed.ts"
import { createApplication, createRegistration, createUser, redirectUri } from "./create.ts"
import { changeStatus, receive, redeliver, subscribe, unsubscribe } from "./performEvents.ts"

const consent = (ledger: Ledger, command: typeof Command.Consent.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  const user = choose(ledger.users, command.user)
  if (application === undefined || user === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const secrets = yield* Secrets
    const verifier = command.pkce
      ? Option.some(Redacted.make(`${mark}verifier${ledger.codes.length}`))
      : Option.none()
    const asked = yield* outcome(Effect.flatMap(
      oauth.authorize(application.value.id, {
        redirectUri: Option.some(redirectUri),
        responseType: Option.some("code"),
        scope: Option.some("profile:read read"),
        state: Option.some("a state"),
        role: Option.none(),
        codeChallenge: Option.map(verifier, (clear) => secrets.hash(Redacted.value(clear))),
        codeChallengeMethod: Option.map(verifier, () => "S256"),
        responseMode: Option.none()
      }),
      (request) => oauth.consent(request, user.value)
    ))
    const known = {
      secret: asked.value ?? Redacted.make("nobody knows"),
      application: application.index,
      user: user.index,
      redirectUri,
      verifier
    }
    const code = push(ledger.codes, known)
    const { at, result } = asked
    return { _tag: "Consented", at, result, code, application: application.index, user: user.index }
  })
}

/** The place of a token: the one that it has, if the same answer was given before. */
const placeOf = (list: Array<KnownToken>, token: KnownToken): number => {
  const known = list.findIndex(({ secret }) => Redacted.value(secret) === Redacted.value(token.secret))
  return known < 0 ? push(list, token) : known
}

const keep = (ledger: Ledger, application: number, tokens: Tokens | undefined) => ({
  access: tokens === undefined ? -1 : placeOf(ledger.access, { secret: tokens.accessToken, application }),
  refresh: tokens === undefined ? -1 : placeOf(ledger.refresh, { secret: tokens.refreshToken, application })
})

const keyOf = (key: string): Option.Option<string> => key === "" ? Option.none() : Option.some(key)

/** The application that a credential belongs to, or the one after it. */
const client = (ledger: Ledger, application: number, isStolen: boolean): Cast | undefined =>
  ledger.applications[(application + (isStolen ? 1 : 0)) % ledger.applications.length]

const redeem = (ledger: Ledger, { code: choice, key, slip }: typeof Command.Redeem.Type): Performed => {
  const code = choose(ledger.codes, choice)
  const caller = code && client(ledger, code.value.application, slip === "client")
  if (caller === undefined || code === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { application, secret, verifier } = code.value
    const exchanged = yield* outcome(oauth.exchange({
      client: caller,
      code: secret,
      idempotencyKey: keyOf(key),
      redirectUri: slip === "redirect"
        ? Option.some(`${redirectUri}/other`)
        : code.index % 2 === 0
        ? Option.some(redirectUri)
        : Option.none(),
      verifier: slip === "verifier" ? Option.some(Redacted.make("another verifier")) : verifier
    }))
    const { at, result, value } = exchanged
    return {
      _tag: "Redeemed",
      at,
      result,
      code: code.index,
      key,
      fits: slip === "none",
      ...keep(ledger, application, value)
    }
  })
}

const refresh = (ledger: Ledger, command: typeof Command.Refresh.Type): Performed => {
  const token = choose(ledger.refresh, command.token)
  const caller = token && client(ledger, token.value.application, command.stolen)
  if (caller === undefined || token === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result, value } = yield* outcome(
      oauth.refresh({ client: caller, token: token.value.secret, idempotencyKey: keyOf(command.key) })
    )
    const isOwner = !command.stolen
    return {
      _tag: "Refreshed",
      at,
      result,
      token: token.index,
      key: command.key,
      isOwner,
      ...keep(ledger, token.value.application, value)
    }
  })
}

const revoke = (ledger: Ledger, { by, stolen, token: choice }: typeof Command.Revoke.Type): Performed => {
  const token = choose(ledger[by], choice)
  const caller = token && client(ledger, token.value.application, stolen)
  if (caller === undefined || token === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result } = yield* outcome(oauth.revoke(caller, token.value.secret))
    return { _tag: "Revoked", at, result, by, token: token.index, isOwner: !stolen }
  })
}

const revokeByUser = (ledger: Ledger, command: typeof Command.RevokeByUser.Type): Performed => {
  const code = choose(ledger.codes, command.code)?.value
  const [application, user] = code ? [ledger.applications[code.application], ledger.users[code.user]] : []
  if (code === undefined || application === undefined || user === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result } = yield* outcome(oauth.revokeByUser(application.id, user.id))
    const isTold = user.role === "athlete" || user.role === "organizer"
    const event = isTold ? `deleted ${user.role} ${code.user}` : null
    return { _tag: "RevokedByUser", at, result, application: code.application, user: code.user, event }
  })
}

/** What a command does; what it is about is chosen now, before anything that runs beside it. */
export const perform = (
  ledger: Ledger,
  label: string,
  command: Exclude<Command.Simple, typeof Command.Work.Type>
): Performed => {
  switch (command._tag) {
    case "CreateUser":
      return Effect.as(Effect.orDie(createUser(ledger, label, command.role)), undefined)
    case "CreateApplication":
      return Effect.as(Effect.orDie(createApplication(ledger)), undefined)
    case "CreateRegistration": {
      const athlete = choose(ledger.users.filter(({ role }) => role === "athlete"), command.athlete)
      const organizer = choose(ledger.users.filter(({ role }) => role === "organizer"), command.organizer)
      return athlete === undefined ? nothing : createRegistration(ledger, athlete.value, organizer?.value)
    }
    case "Consent":
      return consent(ledger, command)
    case "Redeem":
      return redeem(ledger, command)
    case "Refresh":
      return refresh(ledger, command)
    case "Revoke":
      return revoke(ledger, command)
    case "RevokeByUser":
      return revokeByUser(ledger, command)
    case "Subscribe":
      return subscribe(ledger, command)
    case "Unsubscribe":
      return unsubscribe(ledger, command)
    case "ChangeStatus":
      return changeStatus(ledger, command)
    case "Redeliver":
      return redeliver(ledger, command)
    case "Receive":
      return receive(ledger, command)
  }
}

/** Carries operations out on the services of the core, and says what happened. */
import { OAuth } from "@startlist/core/OAuth"
import type { Tokens } from "@startlist/core/Token"
import { Secrets } from "@startlist/core/Secrets"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "../Operation.ts"
import { type Cast, choose, type KnownToken, type ProgramFixture } from "./programFixture.ts"
import { mark } from "../TestSecrets.ts"
import { nothing, outcome, type Performed, push } from "./performed.ts"
import { createApplication, createRegistration, createUser, redirectUri } from "./create.ts"
import { changeStatus, receive, redeliver, subscribe, unsubscribe } from "./performEvents.ts"

const consent = (fixture: ProgramFixture, operation: typeof Operation.Consent.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  const user = choose(fixture.users, operation.user)
  if (application === undefined || user === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const secrets = yield* Secrets
    const verifier = operation.pkce
      ? Option.some(Redacted.make(`${mark}verifier${fixture.codes.length}`))
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
    const code = push(fixture.codes, known)
    const { at, result } = asked
    return { _tag: "Consented", at, result, code, application: application.index, user: user.index }
  })
}

/** The place of a token: the one that it has, if the same answer was given before. */
const placeOf = (list: Array<KnownToken>, token: KnownToken): number => {
  const known = list.findIndex(({ secret }) => Redacted.value(secret) === Redacted.value(token.secret))
  return known < 0 ? push(list, token) : known
}

const keep = (fixture: ProgramFixture, application: number, tokens: Tokens | undefined) => ({
  access: tokens === undefined ? -1 : placeOf(fixture.access, { secret: tokens.accessToken, application }),
  refresh: tokens === undefined ? -1 : placeOf(fixture.refresh, { secret: tokens.refreshToken, application })
})

const keyOf = (key: string): Option.Option<string> => key === "" ? Option.none() : Option.some(key)

/** The application that a credential belongs to, or the one after it. */
const client = (fixture: ProgramFixture, application: number, isStolen: boolean): Cast | undefined =>
  fixture.applications[(application + (isStolen ? 1 : 0)) % fixture.applications.length]

const redeem = (fixture: ProgramFixture, { code: choice, key, slip }: typeof Operation.Redeem.Type): Performed => {
  const code = choose(fixture.codes, choice)
  const caller = code && client(fixture, code.value.application, slip === "client")
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
      ...keep(fixture, application, value)
    }
  })
}

const refresh = (fixture: ProgramFixture, operation: typeof Operation.Refresh.Type): Performed => {
  const token = choose(fixture.refresh, operation.token)
  const caller = token && client(fixture, token.value.application, operation.stolen)
  if (caller === undefined || token === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result, value } = yield* outcome(
      oauth.refresh({ client: caller, token: token.value.secret, idempotencyKey: keyOf(operation.key) })
    )
    const isOwner = !operation.stolen
    return {
      _tag: "Refreshed",
      at,
      result,
      token: token.index,
      key: operation.key,
      isOwner,
      ...keep(fixture, token.value.application, value)
    }
  })
}

const revoke = (fixture: ProgramFixture, { by, stolen, token: choice }: typeof Operation.Revoke.Type): Performed => {
  const token = choose(fixture[by], choice)
  const caller = token && client(fixture, token.value.application, stolen)
  if (caller === undefined || token === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result } = yield* outcome(oauth.revoke(caller, token.value.secret))
    return { _tag: "Revoked", at, result, by, token: token.index, isOwner: !stolen }
  })
}

const revokeByUser = (fixture: ProgramFixture, operation: typeof Operation.RevokeByUser.Type): Performed => {
  const code = choose(fixture.codes, operation.code)?.value
  const [application, user] = code ? [fixture.applications[code.application], fixture.users[code.user]] : []
  if (code === undefined || application === undefined || user === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { at, result } = yield* outcome(oauth.revokeByUser(application.id, user.id))
    const isTold = user.role === "athlete" || user.role === "organizer"
    const event = isTold ? `deleted ${user.role} ${code.user}` : null
    return { _tag: "RevokedByUser", at, result, application: code.application, user: code.user, event }
  })
}

/** What a operation does; what it is about is chosen now, before anything that runs beside it. */
export const perform = (
  fixture: ProgramFixture,
  label: string,
  operation: Exclude<Operation.Simple, typeof Operation.Work.Type>
): Performed => {
  switch (operation._tag) {
    case "CreateUser":
      return Effect.as(Effect.orDie(createUser(fixture, label, operation.role)), undefined)
    case "CreateApplication":
      return Effect.as(Effect.orDie(createApplication(fixture)), undefined)
    case "CreateRegistration": {
      const athlete = choose(fixture.users.filter(({ role }) => role === "athlete"), operation.athlete)
      const organizer = choose(fixture.users.filter(({ role }) => role === "organizer"), operation.organizer)
      return athlete === undefined ? nothing : createRegistration(fixture, athlete.value, organizer?.value)
    }
    case "Consent":
      return consent(fixture, operation)
    case "Redeem":
      return redeem(fixture, operation)
    case "Refresh":
      return refresh(fixture, operation)
    case "Revoke":
      return revoke(fixture, operation)
    case "RevokeByUser":
      return revokeByUser(fixture, operation)
    case "Subscribe":
      return subscribe(fixture, operation)
    case "Unsubscribe":
      return unsubscribe(fixture, operation)
    case "ChangeStatus":
      return changeStatus(fixture, operation)
    case "Redeliver":
      return redeliver(fixture, operation)
    case "Receive":
      return receive(fixture, operation)
  }
}

/** Performs the operations of a program with the services of the core. */
import { OAuth } from "@startlist/core/OAuth"
import type { Tokens } from "@startlist/core/Token"
import { Secrets } from "@startlist/core/Secrets"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "../Operation.ts"
import { mark } from "../TestSecrets.ts"
import * as Events from "./performEvents.ts"
import * as Standing from "./performStanding.ts"
import { nothing, observed, type Performed, push } from "./performed.ts"
import { choose, type Client, type KnownToken, type ProgramFixture, redirectUri } from "./programFixture.ts"

const consent = (fixture: ProgramFixture, operation: typeof Operation.Consent.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  const user = choose(fixture.users, operation.user)
  if (application === undefined || user === undefined) return nothing
  const place = { application: application.index, user: user.index }
  const verifier = operation.pkce ? Option.some(Redacted.make(`${mark}verifier${fixture.codes.length}`)) : Option.none()
  const consent = Effect.gen(function*() {
    const oauth = yield* OAuth
    const secrets = yield* Secrets
    const request = yield* oauth.authorize(application.value.id, {
      redirectUri: Option.some(redirectUri),
      responseType: Option.some("code"),
      scope: Option.some("profile:read read"),
      state: Option.some("a state"),
      role: Option.none(),
      codeChallenge: Option.map(verifier, (clear) => secrets.hash(Redacted.value(clear))),
      codeChallengeMethod: Option.map(verifier, () => "S256"),
      responseMode: Option.none()
    })
    return yield* oauth.consent(request, user.value)
  })
  return observed(consent, (code) => ({
    _tag: "Consented",
    code: push(fixture.codes, { secret: code ?? Redacted.make("nobody knows"), ...place, verifier }),
    ...place
  }))
}

/** The place of a token: its earlier place if the same answer was given before. */
const placeOf = (list: Array<KnownToken>, token: KnownToken): number => {
  const known = list.findIndex(({ secret }) => Redacted.value(secret) === Redacted.value(token.secret))
  return known < 0 ? push(list, token) : known
}

const save = (fixture: ProgramFixture, application: number, tokens: Tokens | undefined) => ({
  access: tokens === undefined ? -1 : placeOf(fixture.access, { secret: tokens.accessToken, application }),
  refresh: tokens === undefined ? -1 : placeOf(fixture.refresh, { secret: tokens.refreshToken, application })
})

const keyOf = (key: string): Option.Option<string> => key === "" ? Option.none() : Option.some(key)

/** The application that a credential belongs to, or the one after it. */
const clientOf = (fixture: ProgramFixture, application: number, isStolen: boolean): Client | undefined =>
  fixture.applications[(application + (isStolen ? 1 : 0)) % fixture.applications.length]

const redeem = (fixture: ProgramFixture, { code: choice, key, slip }: typeof Operation.Redeem.Type): Performed => {
  const code = choose(fixture.codes, choice)
  const client = code && clientOf(fixture, code.value.application, slip === "client")
  if (client === undefined || code === undefined) return nothing
  const { application, secret, verifier } = code.value
  const sent = code.index % 2 === 0 ? Option.some(redirectUri) : Option.none()
  const exchange = Effect.flatMap(OAuth, (oauth) =>
    oauth.exchange({
      client,
      code: secret,
      idempotencyKey: keyOf(key),
      redirectUri: slip === "redirect" ? Option.some(`${redirectUri}/other`) : sent,
      verifier: slip === "verifier" ? Option.some(Redacted.make("another verifier")) : verifier
    }))
  return observed(exchange, (tokens) => ({
    _tag: "Redeemed",
    client: fixture.applications.indexOf(client),
    code: code.index,
    key,
    fits: slip === "none",
    ...save(fixture, application, tokens)
  }))
}

const refresh = (fixture: ProgramFixture, { key, stolen, token: choice }: typeof Operation.Refresh.Type): Performed => {
  const token = choose(fixture.refresh, choice)
  const client = token && clientOf(fixture, token.value.application, stolen)
  if (client === undefined || token === undefined) return nothing
  const { application, secret } = token.value
  const refresh = Effect.flatMap(OAuth, (oauth) => oauth.refresh({ client, token: secret, idempotencyKey: keyOf(key) }))
  return observed(refresh, (tokens) => ({
    _tag: "Refreshed",
    client: fixture.applications.indexOf(client),
    token: token.index,
    key,
    isOwner: !stolen,
    ...save(fixture, application, tokens)
  }))
}

const revoke = (fixture: ProgramFixture, { by, stolen, token: choice }: typeof Operation.Revoke.Type): Performed => {
  const token = choose(fixture[by], choice)
  const client = token && clientOf(fixture, token.value.application, stolen)
  if (client === undefined || token === undefined) return nothing
  const revoke = Effect.flatMap(OAuth, (oauth) => oauth.revoke(client, token.value.secret))
  return observed(revoke, () => ({
    _tag: "Revoked",
    client: fixture.applications.indexOf(client),
    by,
    token: token.index,
    isOwner: !stolen
  }))
}

const revokeByUser = (fixture: ProgramFixture, operation: typeof Operation.RevokeByUser.Type): Performed => {
  const code = choose(fixture.codes, operation.code)?.value
  const [client, user] = code ? [fixture.applications[code.application], fixture.users[code.user]] : []
  if (code === undefined || client === undefined || user === undefined) return nothing
  const event = user.role === "athlete" || user.role === "organizer" ? `deleted ${user.role} ${code.user}` : null
  const revoke = Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(client.id, user.id))
  return observed(revoke, () => ({ _tag: "RevokedByUser", application: code.application, user: code.user, event }))
}

/** Performs an operation. Its subjects are chosen now, before anything that runs beside it. */
export const perform = (
  fixture: ProgramFixture,
  label: string,
  operation: Exclude<Operation.Simple, typeof Operation.Work.Type>
): Performed => {
  switch (operation._tag) {
    case "CreateUser":
      return Effect.as(Events.createUser(fixture, label, operation.role), undefined)
    case "CreateApplication":
      return Effect.as(Effect.orDie(Events.createApplication(fixture)), undefined)
    case "CreateRegistration": {
      const athlete = choose(fixture.users.filter(({ role }) => role === "athlete"), operation.athlete)
      const organizer = choose(fixture.users.filter(({ role }) => role === "organizer"), operation.organizer)
      return athlete === undefined ? nothing : Events.createRegistration(fixture, athlete.value, organizer?.value)
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
      return Events.subscribe(fixture, operation)
    case "Unsubscribe":
      return Events.unsubscribe(fixture, operation)
    case "SetState":
      return Standing.setState(fixture, operation)
    case "RevokeAll":
      return Standing.revokeAll(fixture, operation)
    case "SetPaused":
      return Standing.setPaused(fixture, operation)
    case "ChangeStatus":
      return Events.changeStatus(fixture, operation)
    case "Redeliver":
      return Events.redeliver(fixture, operation)
    case "Receive":
      return Events.receive(fixture, operation)
  }
}

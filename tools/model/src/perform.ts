/** Performs the operations of a program with the services of the core. */
import { OAuth } from "@startlist/core/OAuth"
import type { TokenAnswer } from "@startlist/core/Token"
import { Secrets, shortened } from "@startlist/core/Secrets"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "./Operation.ts"
import type { Request } from "./HistoryEntry.ts"
import { mark } from "@startlist/testing/TestSecrets"
import { TestUsers } from "@startlist/testing/TestUsers"
import * as Events from "./performEvents.ts"
import * as PerformApplication from "./performApplication.ts"
import { making, type Needs, prepare, type Prepared } from "./performed.ts"
import { choose, type Client, placeOf, type ProgramFixture, redirectUri } from "./programFixture.ts"

const consent = (fixture: ProgramFixture, operation: Operation.Of<"Consent">): Prepared | undefined => {
  const application = choose(fixture.applications, operation.application)
  const user = choose(fixture.users, operation.user)
  if (application === undefined || user === undefined || fixture.erased.has(user.index)) return undefined
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
  return making({ _tag: "Consented", ...place }, consent, (secret, hash) => {
    const made = placeOf(fixture.codes, { hash: hash(secret), ...place, secret: undefined, verifier })
    return { made, learn: () => void Object.assign(fixture.codes[made] ?? {}, { secret, verifier }) }
  })
}

/** A request whose answer is a pair of tokens. */
const issuing = <E>(
  fixture: ProgramFixture,
  request: Request,
  application: number,
  useCase: Effect.Effect<TokenAnswer, E, Needs>
): Prepared =>
  making(request, useCase, ({ accessToken: access, refreshToken: refresh }, hash) => {
    const made = placeOf(fixture.pairs, {
      hash: shortened(hash(refresh)),
      application,
      access: undefined,
      refresh: undefined
    })
    const known = fixture.pairs[made]
    const isSame = known?.access === undefined || Redacted.value(known.access) === Redacted.value(access)
    return { made: isSame ? made : -2, learn: () => void Object.assign(known ?? {}, { access, refresh }) }
  })

const keyOf = (key: string): Option.Option<string> => key === "" ? Option.none() : Option.some(key)

/** The application of a credential, or, if it is stolen, the next one. */
const clientOf = (fixture: ProgramFixture, application: number, isStolen: boolean): Client | undefined =>
  fixture.applications[(application + (isStolen ? 1 : 0)) % fixture.applications.length]

const redeem = (
  fixture: ProgramFixture,
  { code: choice, key, slip }: Operation.Of<"Redeem">
): Prepared | undefined => {
  const code = choose(fixture.codes, choice, ({ secret }) => secret !== undefined)
  const client = code && clientOf(fixture, code.value.application, slip === "client")
  if (client === undefined || code?.value.secret === undefined) return undefined
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
  const asked = { client: fixture.applications.indexOf(client), code: code.index, key, fits: slip === "none" }
  return issuing(fixture, { _tag: "Redeemed", ...asked }, application, exchange)
}

/** A pair of tokens, and the application that presents one of them. */
const presented = (fixture: ProgramFixture, choice: number, isStolen: boolean) => {
  const pair = choose(fixture.pairs, choice, ({ refresh }) => refresh !== undefined)
  const client = pair && clientOf(fixture, pair.value.application, isStolen)
  const { access, application, refresh } = pair?.value ?? {}
  if (access === undefined || refresh === undefined || application === undefined || client === undefined) {
    return undefined
  }
  const asked = { client: fixture.applications.indexOf(client), token: pair?.index ?? -1, isOwner: !isStolen }
  return { client, access, refresh, application, asked }
}

const refresh = (
  fixture: ProgramFixture,
  { key, stolen, token }: Operation.Of<"Refresh">
): Prepared | undefined => {
  const found = presented(fixture, token, stolen)
  if (found === undefined) return undefined
  const { application, asked, client, refresh } = found
  const useCase = Effect.flatMap(
    OAuth,
    (oauth) => oauth.refresh({ client, token: refresh, idempotencyKey: keyOf(key) })
  )
  return issuing(fixture, { _tag: "Refreshed", key, ...asked }, application, useCase)
}

const revoke = (
  fixture: ProgramFixture,
  { by, stolen, token }: Operation.Of<"Revoke">
): Prepared | undefined => {
  const found = presented(fixture, token, stolen)
  if (found === undefined) return undefined
  const useCase = Effect.flatMap(OAuth, (oauth) => oauth.revoke(found.client, found[by]))
  return prepare({ _tag: "Revoked", by, ...found.asked }, useCase)
}

const call = (fixture: ProgramFixture, { token }: Operation.Of<"Call">): Prepared | undefined => {
  const found = presented(fixture, token, false)
  return found && prepare(
    { _tag: "Called", token: found.asked.token },
    Effect.flatMap(OAuth, (oauth) => oauth.authenticate(found.access))
  )
}

const revokeByUser = (fixture: ProgramFixture, application: number, place: number): Prepared | undefined => {
  const [client, user] = [fixture.applications[application], fixture.users[place]]
  if (client === undefined || user === undefined) return undefined
  const event = user.role === "athlete" || user.role === "organizer" ? `deleted ${user.role} ${place}` : null
  const useCase = Effect.flatMap(OAuth, (oauth) => oauth.revokeByUser(client.id, user.id))
  return prepare({ _tag: "RevokedByUser", application, user: place, event }, useCase)
}

/** Removes a user as an embedder does who does not call `PersonalData.erase`, then revokes each grant in a save of its own. */
const erase = (fixture: ProgramFixture, choice: number): ReadonlyArray<Prepared | undefined> => {
  const user = choose(fixture.users, choice, ({ role }) => role !== "platform")
  if (user === undefined || fixture.erased.has(user.index)) return []
  fixture.erased.add(user.index)
  const remove = Effect.flatMap(TestUsers, (users) => users.remove(user.value.id))
  return [
    prepare({ _tag: "Erased", user: user.index }, remove),
    ...fixture.applications.map((_, application) => revokeByUser(fixture, application, user.index))
  ]
}

/** The requests of an operation, one after the other. Chooses their subjects before parallel operations run. */
export const perform = (fixture: ProgramFixture, operation: Operation.Request): ReadonlyArray<Prepared> => {
  const one = (): Prepared | undefined | ReadonlyArray<Prepared | undefined> => {
    switch (operation._tag) {
      case "Consent":
        return consent(fixture, operation)
      case "Redeem":
        return redeem(fixture, operation)
      case "Refresh":
        return refresh(fixture, operation)
      case "Call":
        return call(fixture, operation)
      case "Revoke":
        return revoke(fixture, operation)
      case "RevokeByUser": {
        const code = choose(fixture.codes, operation.code)?.value
        return code && revokeByUser(fixture, code.application, code.user)
      }
      case "Erase":
        return erase(fixture, operation.user)
      case "Subscribe":
        return Events.subscribe(fixture, operation)
      case "Unsubscribe":
        return Events.unsubscribe(fixture, operation)
      case "SetState":
      case "RevokeAll":
      case "End":
      case "SetPaused":
        return PerformApplication.perform(fixture, operation)
      case "CreateRegistration":
        return Events.createRegistration(fixture, operation)
      case "ChangeStatus":
        return Events.changeStatus(fixture, operation)
      case "Redeliver":
        return Events.redeliver(fixture, operation)
    }
  }
  return [one()].flat().filter((prepared) => prepared !== undefined)
}

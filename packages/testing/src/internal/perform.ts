/** Carries commands out on the services of the core, and says what happened. */
import { Applications } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import type { Access } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Memory"
import { OAuth, type Tokens } from "@startlist/core/OAuth"
import { emptyUpdates } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Secrets } from "@startlist/core/Secrets"
import type { Services } from "@startlist/core/Services"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { type Role, type User, UserStore } from "@startlist/core/User"
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as DateTimes from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Command from "../Command.ts"
import type { Happening } from "../Model.ts"
import { Reaction, ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import { type Cast, choose, type Ledger, nameOf } from "./ledger.ts"
import { mark } from "../TestSecrets.ts"

/** What a command did; `undefined` for what no law speaks of. */
export type Performed = Effect.Effect<Happening | undefined, never, Stores | Services | ScriptedCallbacks | Secrets>

const nothing: Performed = Effect.succeed(undefined)

/** The name of a refusal; `undefined` if the store did not say how it ended. */
const nameOfRefusal = (error: unknown): string | undefined => {
  if (Predicate.hasProperty(error, "reason") && Predicate.isTagged(error, "InvalidGrant")) return String(error.reason)
  if (Predicate.isTagged(error, "StoreError")) return undefined
  return Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an unknown error"
}

interface Outcome<A> {
  readonly at: number
  readonly result: string | undefined
  readonly value: A | undefined
}

/** Runs a use case and tells when it began and how it came out. */
const outcome = <A, E, R>(useCase: Effect.Effect<A, E, R>): Effect.Effect<Outcome<A>, never, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) =>
    Effect.map(Effect.either(useCase), (either) => ({
      at: millis / 1000,
      result: Either.match(either, { onLeft: nameOfRefusal, onRight: () => "ok" }),
      value: Option.getOrUndefined(Either.getRight(either))
    })))

const push = <A>(list: Array<A>, value: A): number => list.push(value) - 1

/** The access of the platform user, who subscribes for the application. */
const platformAccess = (ledger: Ledger, { id: applicationId }: Cast, now: DateTime.Utc): Option.Option<Access> =>
  Option.map(Option.fromNullable(ledger.users[0]), ({ id: userId, role }) => ({
    applicationId,
    userId,
    role,
    scope: [],
    createdAt: now,
    expiresAt: now
  }))

const redirectUri = "https://app.example.test/callback"

export const createUser = (ledger: Ledger, label: string, role: Role) =>
  Effect.gen(function*() {
    const email = `user-${label}-${ledger.named++}@example.test`
    const users = yield* UserStore
    ledger.users.push(yield* users.insert({ role, email, firstName: "A", lastName: "B" }))
  })

export const createApplication = (ledger: Ledger) =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const callbacks = yield* ScriptedCallbacks
    const owner = yield* Effect.fromNullable(ledger.users[0])
    const callbackUrl = `https://app${ledger.named++}.example.test`
    const settings = { name: "application", redirectUris: [redirectUri], requirePkce: false }
    const { application, secret } = yield* applications.create(owner.id, settings)
    yield* callbacks.always(`${callbackUrl}/wrong`, Reaction.Say({ body: "{\"hub.challenge\":\"wrong\"}" }))
    yield* callbacks.always(`${callbackUrl}/hanging`, Reaction.Hang())
    ledger.applications.push({ id: application.id, secret, callbackUrl })
  })

export const createRegistration = (ledger: Ledger, athlete: User, organizer: User | undefined) =>
  Effect.gen(function*() {
    const registrations = yield* Registrations
    const parties = {
      athleteId: athlete.id,
      organizerId: Option.map(Option.fromNullable(organizer), ({ id }) => id),
      clubId: Option.none(),
      platformUserId: Option.none()
    }
    const created = yield* outcome(registrations.create({ parties, updates: emptyUpdates }))
    return {
      ...created,
      _tag: "RegistrationCreated" as const,
      registration: created.value === undefined ? -1 : push(ledger.registrations, created.value.id),
      parties: [athlete, organizer].flatMap((user) => user === undefined ? [] : [ledger.users.indexOf(user)])
    }
  })

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
        codeChallengeMethod: Option.map(verifier, () => "S256")
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

const keep = (ledger: Ledger, application: number, tokens: Tokens | undefined) => ({
  access: tokens === undefined ? -1 : push(ledger.access, { secret: tokens.accessToken, application }),
  refresh: tokens === undefined ? -1 : push(ledger.refresh, { secret: tokens.refreshToken, application })
})

/** The application that a credential belongs to, or the one after it. */
const client = (ledger: Ledger, application: number, isStolen: boolean): Cast | undefined =>
  ledger.applications[(application + (isStolen ? 1 : 0)) % ledger.applications.length]

const redeem = (ledger: Ledger, { code: choice, slip }: typeof Command.Redeem.Type): Performed => {
  const code = choose(ledger.codes, choice)
  const caller = code && client(ledger, code.value.application, slip === "client")
  if (caller === undefined || code === undefined) return nothing
  return Effect.gen(function*() {
    const oauth = yield* OAuth
    const { application, secret, verifier } = code.value
    const exchanged = yield* outcome(oauth.exchange({
      client: caller,
      code: secret,
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
    const { at, result, value } = yield* outcome(oauth.refresh(caller, token.value.secret))
    const isOwner = !command.stolen
    return {
      _tag: "Refreshed",
      at,
      result,
      token: token.index,
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

const subscribe = (ledger: Ledger, command: typeof Command.Subscribe.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const subscriptions = yield* Subscriptions
    const access = Option.getOrThrow(platformAccess(ledger, application.value, yield* DateTimes.now))
    const callbackUrl = `${application.value.callbackUrl}/${command.callback}`
    const verifyToken = Redacted.make(`${mark}verify`)
    const { at, result, value } = yield* outcome(subscriptions.create(access, { callbackUrl, verifyToken }))
    return {
      _tag: "Subscribed",
      at,
      result,
      application: application.index,
      isProven: command.callback === "right",
      subscription: value === undefined ? -1 : push(ledger.subscriptions, value.id)
    }
  })
}

const unsubscribe = (ledger: Ledger, command: typeof Command.Unsubscribe.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const subscriptions = yield* Subscriptions
    const access = Option.getOrThrow(platformAccess(ledger, application.value, yield* DateTimes.now))
    const { at, result } = yield* outcome(subscriptions.remove(access, Option.none()))
    return { _tag: "Unsubscribed", at, result, application: application.index }
  })
}

const changeStatus = (ledger: Ledger, command: typeof Command.ChangeStatus.Type): Performed => {
  const registration = choose(ledger.registrations, command.registration)
  if (registration === undefined) return nothing
  return Effect.gen(function*() {
    const registrations = yield* Registrations
    const status = `status-${command.status}`
    const change = registrations.change(registration.value, { registration_status: status })
    const { at, result } = yield* outcome(change)
    const { index } = registration
    return {
      _tag: "StatusChanged",
      at,
      result,
      registration: index,
      status,
      event: `updated registration ${index} ${status}`
    }
  })
}

const redeliver = (ledger: Ledger, command: typeof Command.Redeliver.Type): Performed => {
  const delivery = choose(ledger.deliveries, command.delivery)?.value
  if (delivery === undefined) return nothing
  return Effect.gen(function*() {
    const deliveries = yield* Deliveries
    const { at, result } = yield* outcome(deliveries.redeliver(delivery.id))
    const subscription = ledger.subscriptions.indexOf(delivery.subscriptionId)
    return { _tag: "Redelivered", at, result, subscription, event: nameOf(ledger, delivery) }
  })
}

const reactions: Readonly<Record<(typeof Command.Receive.Type)["reactions"][number], Reaction>> = {
  comply: Reaction.Comply({}),
  slow: Reaction.Comply({ afterMs: 1900 }),
  fail: Reaction.Reject({ status: 500 }),
  "retry-after": Reaction.Reject({ status: 503, retryAfter: 3600 }),
  hang: Reaction.Hang()
}

const receive = (ledger: Ledger, command: typeof Command.Receive.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const callbacks = yield* ScriptedCallbacks
    yield* callbacks.next(`${application.value.callbackUrl}/right`, command.reactions.map((name) => reactions[name]))
    return undefined
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

/** Performs the operations about users, applications, subscriptions, registrations and receivers. */
import { Applications } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import { emptyUpdates } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { Role, User } from "@startlist/core/User"
import * as DateTimes from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "../Operation.ts"
import { Behaviour, ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import { mark } from "../TestSecrets.ts"
import { TestUsers } from "../TestUsers.ts"
import { choose, type Client, nameOf, type ProgramFixture, redirectUri } from "./programFixture.ts"
import { nothing, observed, type Performed, push } from "./performed.ts"

export const createUser = (fixture: ProgramFixture, label: string, role: Role) =>
  Effect.gen(function*() {
    const email = `user-${label}-${fixture.named++}@example.test`
    const users = yield* TestUsers
    fixture.users.push(yield* users.add({ role, email, firstName: "A", lastName: "B" }))
  })

export const createApplication = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const callbacks = yield* ScriptedCallbacks
    const owner = yield* Effect.fromNullable(fixture.users[0])
    const callbackUrl = `https://app${fixture.named++}.example.test`
    const settings = { name: "application", redirectUris: [redirectUri], requirePkce: false }
    const { application, secret } = yield* applications.create(owner.id, settings)
    yield* callbacks.always(`${callbackUrl}/wrong`, Behaviour.Say({ body: "{\"hub.challenge\":\"wrong\"}" }))
    yield* callbacks.always(`${callbackUrl}/hanging`, Behaviour.Hang())
    fixture.applications.push({ id: application.id, secret, callbackUrl })
  })

export const createRegistration = (fixture: ProgramFixture, athlete: User, organizer: User | undefined) => {
  const parties = {
    athleteId: athlete.id,
    organizerId: Option.map(Option.fromNullable(organizer), ({ id }) => id),
    clubId: Option.none(),
    platformUserId: Option.none()
  }
  const create = Effect.flatMap(Registrations, (service) => service.create({ parties, updates: emptyUpdates }))
  return observed(create, (created) => ({
    _tag: "RegistrationCreated" as const,
    registration: created === undefined ? -1 : push(fixture.registrations, created.id),
    parties: [athlete, organizer].flatMap((user) => user === undefined ? [] : [fixture.users.indexOf(user)])
  }))
}

/** The access of the platform user, who subscribes for the application. */
const platformAccess = (fixture: ProgramFixture, { id: applicationId }: Client) =>
  Effect.gen(function*() {
    const now = yield* DateTimes.now
    const { id: userId, role } = yield* Effect.orDie(Effect.fromNullable(fixture.users[0]))
    return { applicationId, userId, role, scope: [], createdAt: now, expiresAt: now }
  })

export const subscribe = (fixture: ProgramFixture, operation: typeof Operation.Subscribe.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  const callbackUrl = `${application.value.callbackUrl}/${operation.callback}`
  const create = Effect.gen(function*() {
    const access = yield* platformAccess(fixture, application.value)
    return yield* (yield* Subscriptions).create(access, { callbackUrl, verifyToken: Redacted.make(`${mark}verify`) })
  })
  return observed(create, (subscription) => ({
    _tag: "Subscribed",
    application: application.index,
    isProven: operation.callback === "right",
    subscription: subscription === undefined ? -1 : push(fixture.subscriptions, subscription.id)
  }))
}

export const unsubscribe = (fixture: ProgramFixture, operation: typeof Operation.Unsubscribe.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  const remove = Effect.gen(function*() {
    const access = yield* platformAccess(fixture, application.value)
    return yield* (yield* Subscriptions).remove(access, Option.none())
  })
  return observed(remove, () => ({ _tag: "Unsubscribed", application: application.index }))
}

export const changeStatus = (fixture: ProgramFixture, operation: typeof Operation.ChangeStatus.Type): Performed => {
  const registration = choose(fixture.registrations, operation.registration)
  if (registration === undefined) return nothing
  const status = `status-${operation.status}`
  const event = `updated registration ${registration.index} ${status}`
  const change = Effect.flatMap(
    Registrations,
    (service) => service.change(registration.value, { registration_status: status })
  )
  return observed(change, () => ({ _tag: "StatusChanged", registration: registration.index, status, event }))
}

export const redeliver = (fixture: ProgramFixture, operation: typeof Operation.Redeliver.Type): Performed => {
  const delivery = choose(fixture.deliveries, operation.delivery)?.value
  if (delivery === undefined) return nothing
  const subscription = fixture.subscriptions.indexOf(delivery.subscriptionId)
  const again = Effect.flatMap(Deliveries, (service) => service.redeliver(delivery.id))
  return observed(again, () => ({ _tag: "Redelivered", subscription, event: nameOf(fixture, delivery) }))
}

const behaviours: Readonly<Record<(typeof Operation.Receive.Type)["behaviours"][number], Behaviour>> = {
  comply: Behaviour.Comply({}),
  slow: Behaviour.Comply({ afterMs: 1900 }),
  fail: Behaviour.Reject({ status: 500 }),
  "retry-after": Behaviour.Reject({ status: 503, retryAfter: 3600 }),
  hang: Behaviour.Hang()
}

export const receive = (fixture: ProgramFixture, operation: typeof Operation.Receive.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  const next = operation.behaviours.map((name) => behaviours[name])
  return Effect.as(
    Effect.flatMap(ScriptedCallbacks, (callbacks) => callbacks.next(`${application.value.callbackUrl}/right`, next)),
    undefined
  )
}

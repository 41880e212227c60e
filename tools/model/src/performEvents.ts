/** Performs the operations about users, applications, subscriptions, and registrations. */
import { Applications } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import { emptyUpdates } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import type { Role } from "@startlist/core/User"
import * as DateTimes from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "./Operation.ts"
import { mark } from "@startlist/testing/TestSecrets"
import { TestUsers } from "@startlist/testing/TestUsers"
import {
  choose,
  type Client,
  nameOf,
  type ProgramFixture,
  push,
  redirectUri,
  subscriptionOf
} from "./programFixture.ts"
import { making, prepare, type Prepared } from "./performed.ts"

export const createUser = (fixture: ProgramFixture, role: Role) =>
  Effect.gen(function*() {
    const email = `user-${fixture.named++}@example.test`
    const users = yield* TestUsers
    fixture.users.push(yield* users.add({ role, email, firstName: "A", lastName: "B" }))
  })

export const createApplication = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const owner = yield* Effect.fromNullable(fixture.users[0])
    const callbackUrl = `https://app${fixture.named++}.example.test`
    const settings = { name: "application", redirectUris: [redirectUri], requirePkce: false }
    const { application, secret } = yield* applications.create(owner.id, settings)
    fixture.applications.push({ id: application.id, secret, callbackUrl })
    return callbackUrl
  })

export const createRegistration = (
  fixture: ProgramFixture,
  operation: Operation.Of<"CreateRegistration">
): Prepared | undefined => {
  const athlete = choose(fixture.users, operation.athlete, ({ role }) => role === "athlete")
  const organizer = choose(fixture.users, operation.organizer, ({ role }) => role === "organizer")
  if (athlete === undefined) return undefined
  const parties = {
    athleteId: athlete.value.id,
    organizerId: Option.map(Option.fromNullable(organizer), ({ value }) => value.id),
    clubId: Option.none(),
    platformUserId: Option.none()
  }
  const create = Effect.flatMap(Registrations, (service) => service.create({ parties, updates: emptyUpdates }))
  const places = organizer === undefined ? [athlete.index] : [athlete.index, organizer.index]
  return making({ _tag: "RegistrationCreated", parties: places }, create, ({ id }) => ({
    made: push(fixture.registrations, id),
    learn: () => {}
  }))
}

/** The access of the platform user, who subscribes for the application. */
const platformAccess = (fixture: ProgramFixture, { id: applicationId }: Client) =>
  Effect.gen(function*() {
    const now = yield* DateTimes.now
    const { id: userId, role } = yield* Effect.orDie(Effect.fromNullable(fixture.users[0]))
    return { applicationId, userId, role, scope: [], createdAt: now, expiresAt: now }
  })

export const subscribe = (
  fixture: ProgramFixture,
  operation: Operation.Of<"Subscribe">
): Prepared | undefined => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined || fixture.ended.has(application.index)) return undefined
  const callbackUrl = `${application.value.callbackUrl}/${operation.callback}`
  const create = Effect.gen(function*() {
    const access = yield* platformAccess(fixture, application.value)
    return yield* (yield* Subscriptions).create(access, { callbackUrl, verifyToken: Redacted.make(`${mark}verify`) })
  })
  const request = {
    _tag: "Subscribed",
    application: application.index,
    isProven: operation.callback === "right"
  } as const
  return making(request, create, ({ id }) => ({ made: subscriptionOf(fixture, id), learn: () => {} }))
}

export const unsubscribe = (
  fixture: ProgramFixture,
  operation: Operation.Of<"Unsubscribe">
): Prepared | undefined => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return undefined
  const remove = Effect.gen(function*() {
    const access = yield* platformAccess(fixture, application.value)
    return yield* (yield* Subscriptions).remove(access, Option.none())
  })
  return prepare({ _tag: "Unsubscribed", application: application.index }, remove)
}

export const changeStatus = (
  fixture: ProgramFixture,
  operation: Operation.Of<"ChangeStatus">
): Prepared | undefined => {
  const registration = choose(fixture.registrations, operation.registration)
  if (registration === undefined) return undefined
  const status = `status-${operation.status}`
  const event = `updated registration ${registration.index} ${status}`
  const change = Effect.flatMap(
    Registrations,
    (service) => service.change(registration.value, { registration_status: status })
  )
  return prepare({ _tag: "StatusChanged", registration: registration.index, status, event }, change)
}

export const redeliver = (
  fixture: ProgramFixture,
  operation: Operation.Of<"Redeliver">
): Prepared | undefined => {
  const delivery = choose(fixture.deliveries, operation.delivery)?.value
  if (delivery === undefined) return undefined
  const subscription = fixture.subscriptions.indexOf(delivery.subscriptionId)
  const again = Effect.flatMap(Deliveries, (service) => service.redeliver(delivery.id))
  return prepare({ _tag: "Redelivered", subscription, event: nameOf(fixture, delivery) }, again)
}

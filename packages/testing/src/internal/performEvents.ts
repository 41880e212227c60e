/** Carries out the operations about subscriptions, registrations and receivers. */
import { Deliveries } from "@startlist/core/Deliveries"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as DateTimes from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Operation from "../Operation.ts"
import { Reaction, ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import { choose, nameOf, type ProgramFixture } from "./programFixture.ts"
import { mark } from "../TestSecrets.ts"
import { nothing, outcome, type Performed, platformAccess, push } from "./performed.ts"

export const subscribe = (fixture: ProgramFixture, operation: typeof Operation.Subscribe.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const subscriptions = yield* Subscriptions
    const access = Option.getOrThrow(platformAccess(fixture, application.value, yield* DateTimes.now))
    const callbackUrl = `${application.value.callbackUrl}/${operation.callback}`
    const verifyToken = Redacted.make(`${mark}verify`)
    const { at, result, value } = yield* outcome(subscriptions.create(access, { callbackUrl, verifyToken }))
    return {
      _tag: "Subscribed",
      at,
      result,
      application: application.index,
      isProven: operation.callback === "right",
      subscription: value === undefined ? -1 : push(fixture.subscriptions, value.id)
    }
  })
}

export const unsubscribe = (fixture: ProgramFixture, operation: typeof Operation.Unsubscribe.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const subscriptions = yield* Subscriptions
    const access = Option.getOrThrow(platformAccess(fixture, application.value, yield* DateTimes.now))
    const { at, result } = yield* outcome(subscriptions.remove(access, Option.none()))
    return { _tag: "Unsubscribed", at, result, application: application.index }
  })
}

export const changeStatus = (fixture: ProgramFixture, operation: typeof Operation.ChangeStatus.Type): Performed => {
  const registration = choose(fixture.registrations, operation.registration)
  if (registration === undefined) return nothing
  return Effect.gen(function*() {
    const registrations = yield* Registrations
    const status = `status-${operation.status}`
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

export const redeliver = (fixture: ProgramFixture, operation: typeof Operation.Redeliver.Type): Performed => {
  const delivery = choose(fixture.deliveries, operation.delivery)?.value
  if (delivery === undefined) return nothing
  return Effect.gen(function*() {
    const deliveries = yield* Deliveries
    const { at, result } = yield* outcome(deliveries.redeliver(delivery.id))
    const subscription = fixture.subscriptions.indexOf(delivery.subscriptionId)
    return { _tag: "Redelivered", at, result, subscription, event: nameOf(fixture, delivery) }
  })
}

const reactions: Readonly<Record<(typeof Operation.Receive.Type)["reactions"][number], Reaction>> = {
  comply: Reaction.Comply({}),
  slow: Reaction.Comply({ afterMs: 1900 }),
  fail: Reaction.Reject({ status: 500 }),
  "retry-after": Reaction.Reject({ status: 503, retryAfter: 3600 }),
  hang: Reaction.Hang()
}

export const receive = (fixture: ProgramFixture, operation: typeof Operation.Receive.Type): Performed => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const callbacks = yield* ScriptedCallbacks
    yield* callbacks.next(`${application.value.callbackUrl}/right`, operation.reactions.map((name) => reactions[name]))
    return undefined
  })
}

/** Carries out the commands about subscriptions, registrations and receivers. */
import { Deliveries } from "@startlist/core/Deliveries"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as DateTimes from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Command from "../Command.ts"
import { Reaction, ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import { choose, type Ledger, nameOf } from "./ledger.ts"
import { mark } from "../TestSecrets.ts"
import { nothing, outcome, type Performed, platformAccess, push } from "./performed.ts"

export const subscribe = (ledger: Ledger, command: typeof Command.Subscribe.Type): Performed => {
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

export const unsubscribe = (ledger: Ledger, command: typeof Command.Unsubscribe.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const subscriptions = yield* Subscriptions
    const access = Option.getOrThrow(platformAccess(ledger, application.value, yield* DateTimes.now))
    const { at, result } = yield* outcome(subscriptions.remove(access, Option.none()))
    return { _tag: "Unsubscribed", at, result, application: application.index }
  })
}

export const changeStatus = (ledger: Ledger, command: typeof Command.ChangeStatus.Type): Performed => {
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

export const redeliver = (ledger: Ledger, command: typeof Command.Redeliver.Type): Performed => {
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

export const receive = (ledger: Ledger, command: typeof Command.Receive.Type): Performed => {
  const application = choose(ledger.applications, command.application)
  if (application === undefined) return nothing
  return Effect.gen(function*() {
    const callbacks = yield* ScriptedCallbacks
    yield* callbacks.next(`${application.value.callbackUrl}/right`, command.reactions.map((name) => reactions[name]))
    return undefined
  })
}

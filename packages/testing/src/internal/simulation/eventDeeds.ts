/** How events come about, who is told of them, and what the answers promise. */
import { Deliveries } from "@startlist/core/Deliveries"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Offered } from "./Callers.ts"
import { describe, type Step } from "./plan.ts"
import { callbackUrl } from "./Receivers.ts"
import type { Stage } from "./Stage.ts"

export const eventDeeds = ({ ask, cast, receivers, world }: Stage, step: Step) => {
  const { deliveries, journal, subscriptions } = world
  const name = describe(step)
  const asked = <A, E>(effect: Effect.Effect<A, E, Offered>) => ask({ node: step.node, way: step.way, name }, effect)

  const subscribe = ({ application }: { readonly application: number }) =>
    Effect.gen(function*() {
      const actor = cast.actors[application]
      if (actor === undefined) return
      const wanted = { callbackUrl: callbackUrl(application), verifyToken: Redacted.make(`verify-${application}`) }
      const begin = journal.now()
      const replied = yield* asked(
        Effect.flatMap(Subscriptions, (service) => service.create(actor.access, wanted))
      )
      if (Option.isNone(replied)) return
      const { value } = replied.value
      if (Either.isRight(value)) {
        journal.check(7, subscriptions.get(value.right.id) !== undefined, () =>
          `${name}: subscription ${value.right.id} was answered and never stored`)
      }
      const isGood = receivers.isGood(wanted.callbackUrl) && (world.goodSince.get(wanted.callbackUrl) ?? 0) < begin
      journal.check(7, Either.isRight(value) || value.left._tag !== "ValidationFailed" || !isGood, () =>
        `${name}: its receiver answered the challenge, and the validation failed`)
    })

  const unsubscribe = ({ application }: { readonly application: number }) =>
    Effect.gen(function*() {
      const actor = cast.actors[application]
      if (actor === undefined) return
      const before = subscriptions.of(actor.application.id)
      const replied = yield* asked(
        Effect.flatMap(Subscriptions, (service) => service.remove(actor.access, Option.none()))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value) || before === undefined) return
      journal.check(8, subscriptions.isRemoved(before.id), () =>
        `${name}: it was answered, and subscription ${before.id} is still there`)
    })

  const change = ({ registration }: { readonly registration: number }) =>
    Effect.gen(function*() {
      const id = cast.registrations[registration]
      if (id === undefined) return
      const comment = `change ${Math.floor(step.at)}`
      const replied = yield* asked(
        Effect.flatMap(Registrations, (registrations) => registrations.change(id, { comment }))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value)) return
      journal.count("changes")
      journal.check(4, deliveries.hasComment(id, comment), () =>
        `${name}: it was answered, and no event was saved with it`)
    })

  const redeliver = ({ application }: { readonly application: number }) => {
    const actor = cast.actors[application]
    if (actor === undefined) return Effect.void
    const filter = {
      applicationId: Option.some(actor.application.id),
      state: Option.none(),
      after: Option.none(),
      limit: 5
    }
    const effect = Effect.flatMap(Deliveries, (service) =>
      Effect.flatMap(service.list(filter), (found) => {
        const ended = found.find(({ state }) => state !== "pending")
        return ended === undefined ? Effect.void : service.redeliver(ended.id)
      }))
    return asked(effect)
  }

  return { subscribe, unsubscribe, change, redeliver }
}

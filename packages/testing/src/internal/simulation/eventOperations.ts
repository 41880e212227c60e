/** How events come about, who is told of them, and what the answers promise. */
import { Deliveries } from "@startlist/core/Deliveries"
import { Registrations } from "@startlist/core/Registrations"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Offered } from "./requests.ts"
import { mark } from "../../TestSecrets.ts"
import { describe, type Step } from "./plan.ts"
import { callbackUrl } from "./Receivers.ts"
import type { OperationContext } from "./requests.ts"

export const eventOperations = ({ ask, fixture, receivers, context }: OperationContext, step: Step) => {
  const { deliveries, history, subscriptions } = context
  const name = describe(step)
  const asked = <A, E>(effect: Effect.Effect<A, E, Offered>) =>
    ask({ node: step.node, network: step.network, name }, effect)

  const subscribe = ({ application }: { readonly application: number }) =>
    Effect.gen(function*() {
      const client = fixture.clients[application]
      if (client === undefined) return
      const wanted = { callbackUrl: callbackUrl(application), verifyToken: Redacted.make(`${mark}verify`) }
      const begin = history.now()
      const replied = yield* asked(
        Effect.flatMap(Subscriptions, (service) => service.create(client.access, wanted))
      )
      if (Option.isNone(replied)) return
      const { value } = replied.value
      if (Either.isRight(value)) {
        history.check(
          7,
          subscriptions.get(value.right.id) !== undefined,
          `${name}: subscription ${value.right.id} was answered and never stored`
        )
      }
      const isGood = receivers.isGood(wanted.callbackUrl) && (context.goodSince.get(wanted.callbackUrl) ?? 0) < begin
      history.check(
        7,
        Either.isRight(value) || value.left._tag !== "ValidationFailed" || !isGood,
        `${name}: its receiver answered the challenge, and the validation failed`
      )
    })

  const unsubscribe = ({ application }: { readonly application: number }) =>
    Effect.gen(function*() {
      const client = fixture.clients[application]
      if (client === undefined) return
      const before = subscriptions.of(client.application.id)
      const replied = yield* asked(
        Effect.flatMap(Subscriptions, (service) => service.remove(client.access, Option.none()))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value) || before === undefined) return
      history.check(
        8,
        subscriptions.isRemoved(before.id),
        `${name}: it was answered, and subscription ${before.id} is still there`
      )
    })

  const change = ({ registration }: { readonly registration: number }) =>
    Effect.gen(function*() {
      const id = fixture.registrations[registration]
      if (id === undefined) return
      const comment = `change ${Math.floor(step.at)}`
      const replied = yield* asked(
        Effect.flatMap(Registrations, (registrations) => registrations.change(id, { comment }))
      )
      if (Option.isNone(replied) || Either.isLeft(replied.value.value)) return
      history.count("changes")
      history.check(4, deliveries.hasComment(id, comment), `${name}: it was answered, and no event was saved with it`)
    })

  const redeliver = ({ application }: { readonly application: number }) => {
    const client = fixture.clients[application]
    if (client === undefined) return Effect.void
    const filter = {
      applicationId: Option.some(client.application.id),
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

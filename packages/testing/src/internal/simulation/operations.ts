/** How each operation of a plan is performed, and what the answers promise. */
import { Deliveries } from "@startlist/core/Deliveries"
import { Registrations } from "@startlist/core/Registrations"
import * as Retention from "@startlist/core/Retention"
import type { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { mark } from "../../TestSecrets.ts"
import { describe, Operation, type Step } from "./plan.ts"
import { callbackUrl } from "./Receivers.ts"
import type { Offered, OperationContext } from "./requests.ts"
import { tokenOperations } from "./tokenOperations.ts"

/** Operations about subscriptions and events. */
const eventOperations = ({ ask, context, fixture, receivers }: OperationContext, step: Step) => {
  const { deliveries, history, subscriptions } = context
  const name = describe(step)
  /** Sends the request. None if there was no answer. */
  const send = <A, E>(effect: Effect.Effect<A, E, Offered>) =>
    Effect.map(ask({ node: step.node, network: step.network, name }, effect), Option.map(({ value }) => value))
  const isDone = Option.exists<Either.Either<unknown, unknown>>(Either.isRight)

  const subscribe = Effect.fnUntraced(function*({ application }: { readonly application: number }) {
    const client = fixture.clients[application]
    if (client === undefined) return
    const wanted = { callbackUrl: callbackUrl(application), verifyToken: Redacted.make(`${mark}verify`) }
    const begin = history.now()
    const answer = yield* send(Effect.flatMap(Subscriptions, (service) => service.create(client.access, wanted)))
    if (Option.isNone(answer)) return
    if (Either.isRight(answer.value)) {
      const { id } = answer.value.right
      history.check(7, subscriptions.get(id) !== undefined, `${name}: subscription ${id} was answered and never stored`)
    } else if (answer.value.left._tag === "ValidationFailed") {
      const since = context.goodSince.get(wanted.callbackUrl) ?? 0
      const isGood = receivers.isGood(wanted.callbackUrl) && since < begin
      history.check(7, !isGood, `${name}: its receiver answered the challenge, and the validation failed`)
    }
  })

  const unsubscribe = Effect.fnUntraced(function*({ application }: { readonly application: number }) {
    const client = fixture.clients[application]
    if (client === undefined) return
    const before = subscriptions.of(client.application.id)
    const remove = Effect.flatMap(Subscriptions, (service) => service.remove(client.access, Option.none()))
    if (!isDone(yield* send(remove)) || before === undefined) return
    history.check(
      8,
      subscriptions.isRemoved(before.id),
      `${name}: it was answered, and the subscription is still there`
    )
  })

  const change = Effect.fnUntraced(function*({ registration }: { readonly registration: number }) {
    const id = fixture.registrations[registration]
    if (id === undefined) return
    const comment = `change ${Math.floor(step.at)}`
    if (!isDone(yield* send(Effect.flatMap(Registrations, (service) => service.change(id, { comment }))))) return
    history.count("changes")
    history.check(4, deliveries.hasComment(id, comment), `${name}: it was answered, and no event was saved with it`)
  })

  const redeliver = ({ application }: { readonly application: number }) => {
    const applicationId = Option.map(
      Option.fromNullable(fixture.clients[application]),
      (client) => client.application.id
    )
    const filter = { applicationId, state: Option.none(), after: Option.none(), limit: 5 }
    return send(Effect.flatMap(Deliveries, (service) =>
      Effect.flatMap(service.list(filter), (found) => {
        const ended = found.find(({ state }) => state !== "pending")
        return ended === undefined ? Effect.void : service.redeliver(ended.id)
      })))
  }

  return { subscribe, unsubscribe, change, redeliver, purge: send(Retention.purge) }
}

/** Performs one step. Ends when the answer has arrived, or the client waits no longer. */
export const perform = (operationContext: OperationContext, step: Step): Effect.Effect<void, StoreError> => {
  const { context, nodes, receivers } = operationContext
  const node = nodes[step.node]
  const tokens = tokenOperations(operationContext, step)
  const events = eventOperations(operationContext, step)
  context.history.record(describe(step))
  return Effect.asVoid(Operation.$match(step.operation, {
    Consent: (of): Effect.Effect<unknown, StoreError> => tokens.consent(of),
    Exchange: tokens.exchange,
    Refresh: tokens.refresh,
    Replay: tokens.replay,
    Call: tokens.call,
    RevokeByApplication: tokens.revokeByApplication,
    RevokeByUser: tokens.revokeByUser,
    Subscribe: events.subscribe,
    Unsubscribe: events.unsubscribe,
    Change: events.change,
    Redeliver: events.redeliver,
    Purge: () => events.purge,
    Behave: ({ application, behaviour }) =>
      Effect.sync(() => receivers.setBehaviour(callbackUrl(application), behaviour)),
    NetworkFault: ({ application, count, network }) =>
      Effect.sync(() => receivers.addNetworkFault(callbackUrl(application), network, count)),
    Crash: ({ call, downMs, moment }) =>
      Effect.sync(() => {
        if (node?.life !== undefined) node.crash = { call, moment, downMs }
      }),
    StoreFault: ({ count, fault, operation }) =>
      Effect.sync(() => void node?.faults.push({ operation, fault, left: count }))
  }))
}

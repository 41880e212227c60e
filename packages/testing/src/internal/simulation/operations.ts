/** How each operation of a plan is done. */
import * as Retention from "@startlist/core/Retention"
import type { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import { eventOperations } from "./eventOperations.ts"
import { describe, Operation, type Step } from "./plan.ts"
import { callbackUrl } from "./Receivers.ts"
import type { OperationContext } from "./requests.ts"
import { tokenOperations } from "./tokenOperations.ts"

/** Does one step. Ends when its answer has come, or nobody waits for one any more. */
export const act = (operationContext: OperationContext, step: Step): Effect.Effect<void, StoreError> => {
  const { ask, nodes, receivers, context } = operationContext
  const name = describe(step)
  const node = nodes[step.node]
  const { call, consent, exchange, refresh, replay, revokeByApplication, revokeByUser } = tokenOperations(
    operationContext,
    step
  )
  const { change, redeliver, subscribe, unsubscribe } = eventOperations(operationContext, step)
  context.history.record(name)
  return Effect.asVoid(Operation.$match(step.operation, {
    Consent: (of): Effect.Effect<unknown, StoreError> => consent(of),
    Exchange: exchange,
    Refresh: refresh,
    Replay: replay,
    Call: call,
    RevokeByApplication: revokeByApplication,
    RevokeByUser: revokeByUser,
    Subscribe: subscribe,
    Unsubscribe: unsubscribe,
    Change: change,
    Redeliver: redeliver,
    Purge: () => ask({ node: step.node, network: step.network, name }, Retention.purge),
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

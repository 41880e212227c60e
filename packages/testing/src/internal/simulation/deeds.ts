/** How each deed of a plan is done. */
import * as Retention from "@startlist/core/Retention"
import type { StoreError } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import { eventDeeds } from "./eventDeeds.ts"
import { Deed, describe, type Step } from "./plan.ts"
import { callbackUrl } from "./Receivers.ts"
import type { Stage } from "./Stage.ts"
import { tokenDeeds } from "./tokenDeeds.ts"

/** Does one step. Ends when its answer has come, or nobody waits for one any more. */
export const act = (stage: Stage, step: Step): Effect.Effect<void, StoreError> => {
  const { ask, nodes, receivers, world } = stage
  const name = describe(step)
  const node = nodes[step.node]
  const { call, consent, exchange, refresh, replay, revokeByApplication, revokeByUser } = tokenDeeds(stage, step)
  const { change, redeliver, subscribe, unsubscribe } = eventDeeds(stage, step)
  world.journal.tell(name)
  return Effect.asVoid(Deed.$match(step.deed, {
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
    Purge: () => ask({ node: step.node, way: step.way, name }, Retention.purge),
    Receiver: ({ application, habit }) => Effect.sync(() => receivers.behave(callbackUrl(application), habit)),
    Way: ({ application, count, way }) => Effect.sync(() => receivers.obstruct(callbackUrl(application), way, count)),
    Crash: ({ call, downMs, moment }) =>
      Effect.sync(() => {
        if (node?.life !== undefined) node.crash = { call, moment, downMs }
      }),
    Store: ({ count, fault, operation }) => Effect.sync(() => void node?.faults.push({ operation, fault, left: count }))
  }))
}

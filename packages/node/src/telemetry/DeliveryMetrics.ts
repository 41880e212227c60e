/** Metrics of delivery attempts, ended deliveries and callback validations. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { type Answer, Callbacks } from "@startlist/core/Callbacks"
import { Attempt, type Delivery } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { withoutKey } from "@startlist/postgres/Queue"
import * as Series from "./Series.ts"

const attempts = Series.make(
  Metric.counter(`${Series.prefix}delivery_attempts_total`, {
    description: "Recorded delivery attempts, by outcome and number of the attempt"
  }),
  "outcome",
  "attempt"
)
const attemptDurations = Series.make(
  Metric.histogram(
    `${Series.prefix}delivery_attempt_duration_seconds`,
    Series.shortTimes,
    "Time from the start of a delivery attempt to its outcome"
  ),
  "outcome"
)
const ended = Series.make(
  Metric.counter(`${Series.prefix}deliveries_ended_total`, {
    description: "Deliveries that ended: delivered, exhausted after the last failure, or set aside without an outcome. "
      + "The label application is a client_id once a delivery to it has failed, otherwise other"
  }),
  "state",
  "application"
)
const latencies = Series.make(
  Metric.histogram(
    `${Series.prefix}delivery_latency_seconds`,
    Series.longTimes,
    "Time from a change to the receiver's 200 for its event"
  )
)
const validations = Series.make(
  Metric.counter(`${Series.prefix}callback_validations_total`, {
    description: "Validations of callbacks, by status of the response, or TimedOut, Unreachable, Forbidden"
  }),
  "outcome"
)

for (const outcome of Attempt.fields.outcome.literals) {
  attempts.declare(outcome, "1")
  attemptDurations.declare(outcome)
}
const endStates = ["delivered", "exhausted", "set_aside"]
const declareEnds = (application: string) => endStates.forEach((state) => ended.declare(state, application))
declareEnds("other")
withoutKey.unsafeValue([])
latencies.declare()
validations.declare("200")

/** Maximum number of applications with their own series. */
const maxFailing = 200

const failing = new Map<number, string>()

const labelOf = ({ applicationId, state }: Delivery): string => {
  const known = failing.get(applicationId)
  if (known !== undefined) return known
  if (state === "delivered" || failing.size >= maxFailing) return "other"
  const label = String(applicationId)
  failing.set(applicationId, label)
  declareEnds(label)
  return label
}

const count = (delivery: Delivery): void => {
  if (delivery.state === "set_aside") return ended.update(1, delivery.state, labelOf(delivery))
  const attempt = delivery.attempts.at(-1)
  if (attempt === undefined) return
  attempts.update(1, attempt.outcome, String(delivery.attempts.length))
  attemptDurations.update(attempt.durationMs / 1000, attempt.outcome)
  if (Option.isNone(delivery.endedAt)) return
  ended.update(1, delivery.state, labelOf(delivery))
  if (delivery.state !== "delivered") return
  latencies.update(Math.max(0, delivery.endedAt.value.epochMillis - delivery.event.time.epochMillis) / 1000)
}

/** Counts settled deliveries. Only the node whose settlement is recorded counts it. */
export const layerStores = <A, E, R>(
  stores: Layer.Layer<A | DeliveryQueue, E, R>
): Layer.Layer<A | DeliveryQueue, E, R> =>
  Layer.map(stores, (context) => {
    const queue = Context.get(context, DeliveryQueue)
    return Context.add(context, DeliveryQueue, {
      ...queue,
      settle: (settlements) =>
        Effect.map(queue.settle(settlements), (recorded) => {
          const ids = new Set(recorded)
          for (const { delivery } of settlements) if (ids.has(delivery.id)) count(delivery)
          return recorded
        })
    })
  })

const outcomeOf = (answer: Answer): string => answer._tag === "Answered" ? String(answer.status) : answer._tag

/** Counts callback validations. */
export const layerCallbacks = <E, R>(callbacks: Layer.Layer<Callbacks, E, R>): Layer.Layer<Callbacks, E, R> =>
  Layer.map(callbacks, (context) => {
    const service = Context.get(context, Callbacks)
    return Context.add(context, Callbacks, {
      ...service,
      validate: (validation) =>
        Effect.map(service.validate(validation), (answer) => {
          validations.update(1, outcomeOf(answer))
          return answer
        })
    })
  })

/** Deliveries in narrow rows: letters for closed sets, attempts as small arrays. */
import { type Attempt, Delivery, DeliveryId, type State } from "@startlist/core/Delivery"
import { unsafeBrand } from "@startlist/core/Store"
import * as Option from "effect/Option"
import {
  eventColumns,
  type EventRow,
  type Int8,
  millisOf,
  toApplicationId,
  toEvent,
  toInstant,
  toInstantOption
} from "./rows.ts"
import { toSubscriptionId } from "./subscriptionRows.ts"

export const stateLetters = { pending: "p", delivered: "d", exhausted: "x", cancelled: "c", set_aside: "s" } as const
type Letter = (typeof stateLetters)[State]
const states: Readonly<Record<Letter, State>> = {
  p: "pending",
  d: "delivered",
  x: "exhausted",
  c: "cancelled",
  s: "set_aside"
}

export type AttemptRow = readonly [
  at: number,
  durationMs: number,
  outcome: Attempt["outcome"],
  status: number | null,
  detail: string
]

export interface DeliveryRow extends EventRow {
  readonly id: Int8
  readonly application_id: Int8
  readonly subscription_id: Int8
  readonly state: Letter
  readonly due_at: Int8
  readonly ended_at: Int8 | null
  readonly attempts: ReadonlyArray<AttemptRow> | null
}

/** The columns of a `DeliveryRow`, from a table called `d`. */
export const deliveryColumns = ["id", "application_id", "subscription_id", "state", "due_at", "ended_at", "attempts"]
  .concat(Object.keys(eventColumns)).map((name) => `d.${name}`).join(", ")

export const toAttempt = ([at, durationMs, outcome, status, detail]: AttemptRow): Attempt => ({
  at: toInstant(at),
  durationMs,
  outcome,
  status: Option.fromNullable(status),
  detail
})

export const attemptsOf = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<AttemptRow> =>
  attempts.map(({ at, detail, durationMs, outcome, status }) => [
    millisOf(at),
    durationMs,
    outcome,
    Option.getOrNull(status),
    detail
  ])

export const toDeliveryId = (id: Int8): DeliveryId => unsafeBrand(DeliveryId, Number(id))

export const toDelivery = (row: DeliveryRow): Delivery => ({
  id: toDeliveryId(row.id),
  applicationId: toApplicationId(row.application_id),
  subscriptionId: toSubscriptionId(row.subscription_id),
  event: toEvent(row),
  state: states[row.state],
  attempts: (row.attempts ?? []).map(toAttempt),
  dueAt: toInstant(row.due_at),
  endedAt: toInstantOption(row.ended_at)
})

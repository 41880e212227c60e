/** The outbox: queues deliveries inside the save that causes them. */
import { Delivery, type Event } from "@startlist/core"
import { DateTime, Option, Schema } from "effect"
import * as Record from "./Record.ts"
import type { Sql } from "./Sqlite.ts"

const Subscribed = Schema.Struct({
  id: Delivery.Delivery.fields.subscriptionId,
  application: Delivery.Delivery.fields.applicationId
})

/** The ordering key of events. */
const objectOf = ({ objectId, objectType }: Event.Event): string => `${objectType}:${objectId}`

/** Queues one delivery, due at `dueAt`. The log of events has it, unless it is a repeated delivery. */
export const add = (
  { insert, run }: Sql,
  told: Pick<Delivery.Delivery, "applicationId" | "subscriptionId" | "event">,
  dueAt: DateTime.Utc,
  isLogged: boolean
): Delivery.Delivery => {
  const { applicationId, event, subscriptionId } = told
  const id = Delivery.DeliveryId.make(insert(
    `insert into deliveries (application, subscription, object, state, due_at, logged, record)
     values (?, ?, ?, 'pending', ?, ?, '')`,
    applicationId,
    subscriptionId,
    objectOf(event),
    dueAt.epochMillis,
    isLogged ? 1 : 0
  ))
  const delivery: Delivery.Delivery = {
    id,
    applicationId,
    subscriptionId,
    event,
    state: "pending",
    attempts: [],
    dueAt,
    endedAt: Option.none()
  }
  run("update deliveries set record = ? where id = ?", Record.delivery.write(delivery), id)
  return delivery
}

/** Cancels a pending delivery. */
export const cancel = ({ run }: Sql, record: string, now: DateTime.Utc): void => {
  const cancelled = { ...Record.delivery.read(record), state: "cancelled", endedAt: Option.some(now) } as const
  run(
    "update deliveries set state = 'cancelled', ended_at = ?, claim = null, lease_ends = null, record = ? where id = ?",
    now.epochMillis,
    Record.delivery.write(cancelled),
    cancelled.id
  )
}

/** Queues deliveries for the subscriptions that these events concern, in this transaction. */
export const enqueue = (sql: Sql, outgoing: ReadonlyArray<Event.Outgoing>): ReadonlyArray<Delivery.DeliveryId> =>
  outgoing.flatMap(({ audience, event }) => {
    const concerned = audience._tag === "Application"
      ? sql.all(Subscribed, "select id, application from subscriptions where application = ?", audience.applicationId)
      : sql.all(
        Subscribed,
        `select id, application from subscriptions s where exists (
           select 1 from active_grants g where g.application = s.application and g.user in (select value from json_each(?))) order by id`,
        JSON.stringify(audience.userIds)
      )
    return concerned.map(({ application, id }) =>
      add(sql, { applicationId: application, subscriptionId: id, event }, event.time, true).id
    )
  })

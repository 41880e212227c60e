/** The queue of deliveries on SQLite: claims with leases, and recorded attempts. */
import { Delivery, type DeliveryQueue, type Subscription } from "@startlist/core"
import { type DateTime, Effect, Option, Schema, type Stream } from "effect"
import { add, cancel, enqueue } from "./Outbox.ts"
import { findOne, Row } from "./People.ts"
import * as Record from "./Record.ts"
import type { Seal } from "./Seal.ts"
import type { Atomically, Sql } from "./Sqlite.ts"

const Last = Schema.Struct({ last: Schema.Int })
const Claimable = Schema.Struct({
  delivery: Schema.String,
  subscription: Schema.String,
  signing: Schema.String,
  claims: Schema.Int
})

/** Due, not under a live lease, first of their object; earliest due first. Times after ?2 have passed. */
const claimable = `
  select d.record as delivery, s.record as subscription, g.record as signing, d.claims + 1 as claims
  from deliveries d join subscriptions s on s.id = d.subscription join signing_secrets g on g.application = d.application
    join applications a on a.id = d.application and a.record ->> 'state' <> 'suspended' and not s.record ->> 'paused'
  where d.state = 'pending' and (d.due_at <= ?1 or d.due_at > ?2)
    and (d.lease_ends is null or d.lease_ends <= ?1 or d.lease_ends > ?2)
    and not exists (select 1 from deliveries e where e.state = 'pending'
      and e.subscription = d.subscription and e.object = d.object and e.id < d.id)
  order by d.due_at, d.id`

/** Whether a delivery repeats another one. */
const isRepeat = (repeat: string, original: string): string =>
  `${repeat}.subscription = ${original}.subscription and ${repeat}.id > ${original}.id
    and ${repeat}.record ->> '$.event.id' = ${original}.record ->> '$.event.id'`

export const makeQueue = (
  atomically: Atomically,
  seal: Seal,
  wakeUps: Stream.Stream<void>,
  wake: Effect.Effect<unknown>
): Delivery.DeliveryStore.Service & DeliveryQueue.DeliveryQueue.Service => {
  const signing = Record.signing(seal)

  const claim = ({ all, run }: Sql, request: DeliveryQueue.ClaimRequest): ReadonlyArray<DeliveryQueue.Claimed> => {
    const { allowances, latest, leaseEnds, limit, now, perSubscription, token } = request
    const taken = new Map<Subscription.SubscriptionId, number>()
    const claimed: Array<DeliveryQueue.Claimed> = []
    for (const row of all(Claimable, claimable, now.epochMillis, latest?.epochMillis ?? null)) {
      if (claimed.length === limit) break
      const delivery = Record.delivery.read(row.delivery)
      const count = (taken.get(delivery.subscriptionId) ?? 0) + 1
      if (count > (allowances.get(delivery.subscriptionId) ?? perSubscription)) continue
      taken.set(delivery.subscriptionId, count)
      const statement = "update deliveries set claim = ?, lease_ends = ?, claims = ? where id = ?"
      run(statement, token, leaseEnds.epochMillis, row.claims, delivery.id)
      claimed.push({
        delivery,
        subscription: Record.subscription.read(row.subscription),
        signingSecrets: signing.read(row.signing).secrets,
        token,
        leaseEnds,
        claims: row.claims
      })
    }
    return claimed
  }

  const settle = ({ run }: Sql, { delivery, token }: DeliveryQueue.Settlement): boolean =>
    run(
      `update deliveries set state = ?, due_at = ?, ended_at = ?, claim = null, lease_ends = null, claims = 0, record = ?
       where id = ? and claim = ? and state = 'pending'`,
      delivery.state,
      delivery.dueAt.epochMillis,
      Option.match(delivery.endedAt, { onNone: () => null, onSome: ({ epochMillis }) => epochMillis }),
      Record.delivery.write(delivery),
      delivery.id,
      token
    ) === 1

  const release = ({ run }: Sql, { delivery, token }: DeliveryQueue.Settlement, dueAt: DateTime.Utc): boolean =>
    run(
      `update deliveries set due_at = ?, claim = null, lease_ends = null, claims = claims - 1, record = ?
       where id = ? and claim = ? and state = 'pending'`,
      dueAt.epochMillis,
      Record.delivery.write({ ...delivery, dueAt }),
      delivery.id,
      token
    ) === 1

  const list = ({ all }: Sql, { after, applicationId, limit, order, state }: Delivery.DeliveryFilter) => {
    const [comparison, direction] = order === undefined ? ["<", "desc"] : [">", "asc"]
    return all(
      Row,
      `select record from deliveries
       where (?1 is null or application = ?1) and (?2 is null or state = ?2) and (?3 is null or id ${comparison} ?3)
       order by id ${direction} limit ?4`,
      Option.getOrNull(applicationId),
      Option.getOrNull(state),
      Option.getOrNull(after),
      limit
    ).map(({ record }) => Record.delivery.read(record))
  }

  const newest = { after: Option.none(), state: Option.none() }

  return {
    search: (search) =>
      Effect.map(
        atomically((sql) => list(sql, { ...search, limit: search.among })),
        (found) => Delivery.searchIn(search, found)
      ),
    attempts: (id, since, among) =>
      Effect.map(
        atomically((sql) => list(sql, { ...newest, applicationId: Option.some(id), limit: among })),
        (found) => found.flatMap(({ attempts }) => attempts).filter(({ at }) => at.epochMillis >= since.epochMillis)
      ),
    claim: (request) => atomically((sql) => claim(sql, request)),
    settle: (settlements) =>
      atomically((sql) => settlements.filter((one) => settle(sql, one)).map(({ delivery }) => delivery.id)),
    release: (claims, dueAt) =>
      atomically((sql) => claims.filter((one) => release(sql, one, dueAt)).map(({ delivery }) => delivery.id)),
    wakeUps,
    find: (id) => atomically((sql) => findOne(sql, Record.delivery, "select record from deliveries where id = ?", id)),
    list: (filter) => atomically((sql) => list(sql, filter)),
    cancel: (id, now, limit) =>
      atomically((sql) => {
        const query =
          "select record from deliveries where application = ? and state = 'pending' order by id desc limit ?"
        const newest = sql.all(Row, query, id, limit)
        for (const { record } of newest) cancel(sql, record, now)
        return newest.length
      }),
    again: ({ id }, now, only) =>
      atomically((sql) => {
        const query = `select d.record from deliveries d join subscriptions s on s.id = d.subscription where d.id = ?1
          and (?2 = 'always' or (d.logged or d.state <> 'delivered')
            and not exists (select 1 from deliveries r where ${isRepeat("r", "d")}))
          and (?2 <> 'latest' or not exists (select 1 from deliveries n where n.subscription = d.subscription
            and n.object = d.object and n.state in ('delivered', 'pending')
            and n.record ->> '$.event.sequence' > d.record ->> '$.event.sequence'))`
        const [stored] = sql.all(Row, query, id, only ?? "always")
        return Option.map(
          Option.fromNullable(stored),
          ({ record }) => add(sql, Record.delivery.read(record), now, false)
        )
      }).pipe(Effect.tap(wake)),
    repeats: (deliveries) =>
      atomically(({ all }) =>
        new Map(
          deliveries.flatMap(({ id }) => {
            const query = `select r.record from deliveries d join deliveries r on ${isRepeat("r", "d")}
              where d.id = ? order by r.state = 'delivered' desc, r.id desc limit 1`
            return all(Row, query, id).map(({ record }) => [id, Record.delivery.read(record)] as const)
          })
        )
      ),
    enqueue: (outgoing) => Effect.zipLeft(atomically((sql) => enqueue(sql, outgoing)), wake),
    // SQLite writes one transaction after the other, so identifiers are in the order of commits.
    log: ({ after, applicationId, limit }) =>
      Effect.flatten(atomically(({ all }) => {
        const [last] = all(Last, "select coalesce(max(seq), 0) as last from sqlite_sequence where name = 'deliveries'")
        if (after > (last?.last ?? 0)) return new Delivery.UnknownPosition()
        const query = "select record from deliveries where application = ? and logged and id > ? order by id limit ?"
        const found = all(Row, query, applicationId, after, limit).map(({ record }) => Record.delivery.read(record))
        return Effect.succeed(found.map((delivery) => ({ position: delivery.id, delivery })))
      })),
    purge: (endedBefore, limit) =>
      atomically(({ run }) =>
        run(
          "delete from deliveries where id in (select id from deliveries where ended_at <= ? limit ?)",
          endedBefore.epochMillis,
          limit
        )
      )
  }
}

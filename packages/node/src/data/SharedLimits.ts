/** Limits that hold for the installation, counted in a table, beside those that each node counts. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { FailureLimit, type Key } from "@startlist/http/FailureLimit"
import { Database } from "@startlist/postgres/Database"

/** Maximum difference in milliseconds between the clocks of two nodes, each of which agrees with the database. */
const maxDifference = 60_000

/** Counts `keys` of the installation in the table, and other keys by `own`. While the database is unavailable, all by `own`. */
const make = (own: FailureLimit.Service) =>
  Effect.gen(function*() {
    const { prefix: p, query } = yield* Database
    // A window that ends later than one that begins now is of a faster node, or from before the clock was set back.
    const isOver = `(l.ends_at <= $3::bigint OR l.ends_at > $3::bigint + $4::bigint + ${maxDifference})`
    const take = {
      name: `${p}limit_take`,
      text: `INSERT INTO ${p}limits AS l (name, value, count, ends_at)
        VALUES ($1::text, $2::text, 1, $3::bigint + $4::bigint)
        ON CONFLICT (name, value) DO UPDATE SET
          count = CASE WHEN ${isOver} THEN 1 ELSE l.count + 1 END,
          ends_at = CASE WHEN ${isOver} OR l.count = 0 THEN excluded.ends_at ELSE l.ends_at END
        WHERE ${isOver} OR l.count < $5::integer
        RETURNING count`
    }
    const findEnd = {
      name: `${p}limit_end`,
      text: `SELECT ends_at FROM ${p}limits WHERE name = $1::text AND value = $2::text`
    }
    const giveBack = {
      name: `${p}limit_give_back`,
      text: `UPDATE ${p}limits SET count = count - 1
        WHERE name = $1::text AND value = $2::text AND ends_at > $3::bigint AND count > 0`
    }
    const purge = { name: `${p}limit_purge`, text: `DELETE FROM ${p}limits WHERE ends_at <= $1::bigint` }

    /** Takes an attempt of one key. */
    const takeOne = ({ limit: { count, name, window }, value }: Key) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const [taken] = yield* query<{ readonly count: number }>(take, [
          name,
          value,
          now,
          Duration.toMillis(window),
          count
        ])
        if (taken !== undefined) {
          // Only with a new window, because busy keys take many attempts in each.
          if (taken.count === 1) yield* query(purge, [now])
          return Option.none()
        }
        const [found] = yield* query<{ readonly ends_at: string }>(findEnd, [name, value])
        return Option.some(Duration.millis(Math.max(1, Number(found?.ends_at ?? now) - now)))
      })

    const giveBackAll = (keys: ReadonlyArray<Key>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.forEach(keys, ({ limit, value }) => query(giveBack, [limit.name, value, now]), { discard: true }))

    const takeAll = (keys: ReadonlyArray<Key>) =>
      Effect.gen(function*() {
        for (const [place, key] of keys.entries()) {
          const wait = yield* takeOne(key)
          if (Option.isNone(wait)) {
            continue
          }
          yield* giveBackAll(keys.slice(0, place))
          return wait
        }
        return Option.none()
      })

    const isShared = (keys: ReadonlyArray<Key>): boolean =>
      keys.every(({ limit }) => limit.ofInstallation === true)

    return FailureLimit.of({
      take: (keys) => isShared(keys) ? Effect.catchAll(takeAll(keys), () => own.take(keys)) : own.take(keys),
      giveBack: (keys) =>
        isShared(keys) ? Effect.catchAll(giveBackAll(keys), () => own.giveBack(keys)) : own.giveBack(keys)
    })
  })

/** The limits of `own`, and in the database those of the installation. */
export const layer = (own: Layer.Layer<FailureLimit>): Layer.Layer<FailureLimit, never, Database> =>
  Layer.flatMap(own, (context) => Layer.effect(FailureLimit, make(Context.get(context, FailureLimit))))

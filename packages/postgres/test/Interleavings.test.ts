import { SqlClient } from "@effect/sql"
import { it } from "@effect/vitest"
import {
  Application,
  Delivery,
  DeliveryQueue,
  Grant,
  PersonalData,
  Registration,
  Registrations,
  Subscription,
  User
} from "@startlist/core"
import { Database } from "@startlist/postgres"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, Redacted, Schedule } from "effect"
import { describe, expect } from "vitest"
import * as stores from "../src/internal/stores.ts"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const instant = (millis: number) => DateTime.unsafeMake(millis)

/** A registration of an athlete who has granted access to a subscribed application. */
const told = Effect.gen(function*() {
  const userId = User.UserId.make(1)
  const applications = yield* Application.ApplicationStore
  const { id: applicationId } = yield* applications.insert({
    name: "App",
    ownerId: userId,
    redirectUris: [],
    requirePkce: false,
    secrets: [],
    createdAt: instant(0)
  }, Redacted.make("whsec_x"))
  const grants = yield* Grant.GrantStore
  const grant = Grant.Grant.make({
    applicationId,
    userId,
    version: 1,
    status: "active",
    role: "athlete",
    scope: ["read"],
    epoch: 1,
    applicationEpoch: 0,
    generation: 0,
    lineStart: 1,
    grantedAt: instant(0),
    refresh: Option.none(),
    access: [],
    codes: []
  })
  yield* grants.save({ grant, outgoing: [] })
  const subscriptions = yield* Subscription.SubscriptionStore
  const subscription = yield* subscriptions.insert({
    applicationId,
    callbackUrl: "https://app.test/events",
    createdAt: instant(0),
    updatedAt: instant(0)
  })
  const registrations = yield* Registration.RegistrationStore
  const registration = yield* registrations.insert({
    parties: { athleteId: userId, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() },
    updates: Registration.emptyUpdates
  })
  return { registration, subscription }
})

const change = (id: Registration.RegistrationId, comment: string) =>
  Effect.flatMap(Registrations.Registrations, (registrations) => registrations.change(id, { comment }))

const claim = Effect.gen(function*() {
  const store = yield* DeliveryQueue.DeliveryQueue
  const now = yield* DateTime.now
  return yield* store.claim({
    now,
    leaseEnds: DateTime.add(now, { minutes: 1 }),
    token: "token",
    limit: 10,
    perSubscription: 10,
    allowances: new Map()
  })
})

const claimOne = (now: DateTime.Utc, leaseEnds: DateTime.Utc) =>
  Effect.flatMap(
    DeliveryQueue.DeliveryQueue,
    (store) =>
      store.claim({
        now,
        leaseEnds,
        token: `at ${now.epochMillis}`,
        limit: 1,
        perSubscription: 1,
        allowances: new Map()
      })
  )

/** A claim reads its allowances first, and then chooses. Here it waits for a lock in between, with the snapshot that it has. */
const slowClaims = `
  CREATE SCHEMA slow;
  CREATE FUNCTION slow.json_each_text(json, OUT key text, OUT value text) RETURNS SETOF record LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(1);
    RETURN QUERY SELECT * FROM pg_catalog.json_each_text($1);
  END
  $$;
  DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = slow, pg_catalog, public', current_database());
  END $$`

const settle = (claimed: ReadonlyArray<DeliveryQueue.Claimed>) =>
  Effect.flatMap(DeliveryQueue.DeliveryQueue, (store) =>
    store.settle(claimed.map(({ delivery, token }) => ({
      token,
      delivery: Delivery.Delivery.make({ ...delivery, state: "delivered", endedAt: Option.some(instant(1)) })
    }))))

const comments = (claimed: ReadonlyArray<DeliveryQueue.Claimed>) =>
  claimed.map(({ delivery }) => "comment" in delivery.event.updates ? delivery.event.updates.comment : "")

/**
 * Runs `first` in a transaction that stays open until `second` has ended or waits for it, does `last`, and then commits.
 * Waits for the end of both.
 */
const overlapping = <A, E, R, A2, E2, R2, E3 = never, R3 = never>(
  first: Effect.Effect<A, E, R>,
  second: Effect.Effect<A2, E2, R2>,
  last: Effect.Effect<unknown, E3, R3> = Effect.void
) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { admin } = yield* TestDatabase.TestDatabase
    const done = yield* Deferred.make<void>()
    const commit = yield* Deferred.make<void>()
    const open = yield* Effect.fork(
      sql.withTransaction(first.pipe(
        Effect.zipLeft(Deferred.succeed(done, undefined)),
        Effect.zipLeft(Deferred.await(commit)),
        Effect.zipLeft(last)
      ))
    )
    yield* Effect.raceFirst(Deferred.await(done), Fiber.join(open))
    const other = yield* Effect.fork(second)
    const waits = Effect.promise(() =>
      admin.query(
        `SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
          WHERE NOT l.granted AND a.datname = current_database()`
      )
    )
    yield* waits.pipe(
      Effect.filterOrFail(({ rowCount }) => rowCount !== 0),
      Effect.retry(Schedule.spaced("5 millis")),
      Effect.raceFirst(Fiber.await(other))
    )
    yield* Deferred.succeed(commit, undefined)
    return [yield* Fiber.join(open), yield* Fiber.join(other)] as const
  })

const onPostgres = <A, E>(
  test: Effect.Effect<
    A,
    E,
    | TestDatabase.TestDatabase
    | Effect.Effect.Context<typeof told>
    | PersonalData.PersonalData
    | Registrations.Registrations
    | SqlClient.SqlClient
    | Application.ApplicationStore
    | Delivery.DeliveryStore
    | DeliveryQueue.DeliveryQueue
    | Database.Database
  >
) =>
  Effect.flatMap(TestDatabase.TestDatabase, ({ url }) => Effect.provide(test, fixtures.node({ url }))).pipe(
    Effect.provide(TestDatabase.layer)
  )

describe("interleaved commits", () => {
  it.live("an event that is saved while the one before it is settled is delivered after it", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { id } } = yield* told
      yield* change(id, "one")
      const one = yield* claim
      expect(comments(one)).toEqual(["one"])
      yield* overlapping(change(id, "two"), settle(one))
      const two = yield* claim
      expect(comments(two)).toEqual(["two"])
      yield* overlapping(settle(two), change(id, "three"))
      expect(comments(yield* claim)).toEqual(["three"])
    })))

  it.live("an event of a server's own registration that is queued during an erasure does not block later ones", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { parties } } = yield* told
      const own = Registration.RegistrationId.make(77)
      const { notify } = yield* Registrations.Registrations
      const report = (comment: string) =>
        notify({ id: own, parties, updates: { ...Registration.emptyUpdates, comment } })
      const { erase } = yield* PersonalData.PersonalData
      // The audience is that of another party.
      const erased = User.UserId.make(2)
      yield* report("before")
      yield* overlapping(report("meanwhile"), erase(erased, [own]))
      yield* report("after")
      for (let left = ["meanwhile", "after"]; left.length > 0; left = left.slice(1)) {
        const claimed = yield* claim
        expect(comments(claimed)).toEqual(left.slice(0, 1))
        yield* settle(claimed)
      }
    })))

  it.live("events that are saved while their subscription is removed are cancelled or never queued", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { id }, subscription } = yield* told
      const subscriptions = yield* Subscription.SubscriptionStore
      const deliveries = yield* Delivery.DeliveryStore
      const [, removed] = yield* overlapping(change(id, "before"), subscriptions.remove(subscription.id, instant(1)))
      expect(removed).toBe(true)
      const again = yield* subscriptions.insert(subscription)
      yield* overlapping(subscriptions.remove(again.id, instant(1)), change(id, "after"))
      const all = yield* deliveries.list({
        applicationId: Option.none(),
        state: Option.none(),
        after: Option.none(),
        limit: 10
      })
      expect(all.map(({ state, subscriptionId }) => [subscriptionId, state])).toEqual([[subscription.id, "cancelled"]])
      expect(yield* claim).toEqual([])
    })))

  it.live("a new subscription can be created while the old one is being removed", () =>
    onPostgres(Effect.gen(function*() {
      const { subscription } = yield* told
      const subscriptions = yield* Subscription.SubscriptionStore
      const [, next] = yield* overlapping(
        subscriptions.remove(subscription.id, instant(1)),
        subscriptions.insert(subscription)
      )
      expect(next.id).toBeGreaterThan(subscription.id)
    })))

  it.live("a delivery that another node is claiming is skipped without waiting", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { id } } = yield* told
      yield* change(id, "one")
      const [held, none] = yield* overlapping(claim, claim)
      expect([comments(held), comments(none)]).toEqual([["one"], []])
    })))

  it.live("a subscription that is renewed or removed before a claim has read it is not used in its old version", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { id }, subscription } = yield* told
      const database = yield* Database.Database
      const subscriptions = yield* Subscription.SubscriptionStore
      const renewed = { ...subscription, version: 2, callbackUrl: "https://app.test/other" }
      /** A worker that has not read the subscription. The change happens when the claim is committed. */
      const claimBefore = <A, E>(other: Effect.Effect<A, E>) =>
        Effect.provide(
          claim,
          Layer.provide(
            stores.layer,
            Layer.succeed(Database.Database, {
              ...database,
              query: <Row>(
                statement: Database.Statement,
                parameters: ReadonlyArray<Database.Parameter>
              ) =>
                Effect.zipRight(
                  Effect.when(Effect.orDie(other), () => statement.name === "startlist_subscription_find_claimed"),
                  database.query<Row>(statement, parameters)
                )
            })
          ).pipe(Layer.provide(fixtures.seal))
        )
      yield* change(id, "one")
      const claimed = yield* claimBefore(subscriptions.save(renewed))
      expect(claimed.map((one) => one.subscription)).toEqual([renewed])
      yield* settle(claimed)
      yield* change(id, "two")
      expect(yield* claimBefore(subscriptions.remove(subscription.id, instant(2)))).toEqual([])
      const [last] = yield* (yield* Delivery.DeliveryStore).list({
        applicationId: Option.none(),
        state: Option.none(),
        after: Option.none(),
        limit: 1
      })
      expect(last?.state).toBe("cancelled")
    })))

  it.live("a claim leaves out what is released to a later time while it chooses: another one is earlier", () =>
    Effect.gen(function*() {
      const { admin, url } = yield* TestDatabase.TestDatabase
      yield* Effect.promise(() => admin.query(slowClaims))
      yield* Effect.provide(
        Effect.gen(function*() {
          const { registration: { id, version: _, ...registration } } = yield* told
          const registrations = yield* Registration.RegistrationStore
          const other = yield* registrations.insert(registration)
          const store = yield* DeliveryQueue.DeliveryQueue
          yield* change(id, "earliest")
          yield* change(other.id, "next")
          const earliest = yield* claim
          expect(comments(earliest)).toEqual(["earliest", "next"])
          yield* store.release(earliest, instant(1))
          const held = yield* claimOne(instant(10), instant(11))
          expect(comments(held)).toEqual(["earliest"])
          const { query } = yield* Database.Database
          const stop = query({ name: "lock", text: "SELECT pg_advisory_xact_lock(1)::text" }, [])
          const [, claimed] = yield* overlapping(
            stop,
            claimOne(instant(20), instant(30)),
            store.release(held, instant(15))
          )
          expect(comments(claimed)).toEqual(["next"])
          expect(comments(yield* claimOne(instant(20), instant(30)))).toEqual(["earliest"])
        }),
        fixtures.node({ url })
      )
    }).pipe(Effect.provide(TestDatabase.layer)))

  it.live("a reader of the log that waits for a row holds no other, so that it is in no deadlock", () =>
    onPostgres(Effect.gen(function*() {
      const { registration: { id }, subscription: { applicationId } } = yield* told
      for (const comment of ["one", "two", "three"]) yield* change(id, comment)
      const { list, log } = yield* Delivery.DeliveryStore
      const page = { applicationId: Option.some(applicationId), state: Option.none(), after: Option.none(), limit: 10 }
      const [three, two, one] = yield* list(page)
      const sql = yield* SqlClient.SqlClient
      // As a settlement does, which ends deliveries and then makes an earlier one the next of its object.
      const lock = (delivery: Delivery.Delivery | undefined) =>
        sql`SELECT FROM startlist_deliveries WHERE id = ${delivery?.id ?? 0} FOR UPDATE NOWAIT`
      const [, read] = yield* overlapping(lock(three), log({ applicationId, after: 0, limit: 10 }), lock(two))
      expect(read.map(({ delivery }) => delivery)).toEqual([one, two, three])
    })))

  it.live("two transactions that wait for each other both succeed: the server ends one, which runs again", () =>
    onPostgres(Effect.gen(function*() {
      const { query, transaction } = yield* Database.Database
      const lock = (key: number) =>
        query({ name: "lock", text: "SELECT pg_advisory_xact_lock($1::bigint)::text" }, [key])
      const [one, two] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let runs = 0
      const both = (keys: readonly [number, number], mine: Deferred.Deferred<void>, other: Deferred.Deferred<void>) =>
        transaction(Effect.gen(function*() {
          runs++
          yield* lock(keys[0])
          yield* Deferred.succeed(mine, undefined)
          yield* Deferred.await(other)
          yield* lock(keys[1])
        }))
      yield* Effect.all([both([1, 2], one, two), both([2, 1], two, one)], { concurrency: "unbounded" })
      expect(runs).toBe(3)
    })))
})

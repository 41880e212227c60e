import { it } from "@effect/vitest"
import { Application, Delivery, type Store, User } from "@startlist/core"
import { GrantStore } from "@startlist/core/Grant"
import { Database, Postgres, Users } from "@startlist/postgres"
import { Deferred, Effect, Either, identity, Layer, Option, Redacted, Schedule, Stream } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as SilentNetwork from "@startlist/test-support/SilentNetwork"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import * as TestServer from "@startlist/test-support/TestServer"

const until = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurUpTo("20 seconds")))

/** Expects that a store call fails before a timer that began with it, which a paused machine also delays. */
const failing = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>) =>
  Effect.flip(call).pipe(
    Effect.map(({ _tag }) => _tag),
    Effect.timeoutTo({ duration: "5 seconds", onSuccess: identity, onTimeout: () => "nothing for 5 s" }),
    Effect.map((outcome) => expect(outcome).toBe("@startlist/core/StoreError"))
  )

const calls = Effect.gen(function*() {
  const grants = yield* GrantStore
  const users = yield* Users.Users
  const deliveries = yield* Delivery.DeliveryStore
  return [
    Postgres.ready,
    Effect.asVoid(users.find(User.UserId.make(1))),
    Effect.asVoid(grants.find(Application.ApplicationId.make(1), User.UserId.make(1))),
    Effect.asVoid(deliveries.find(Delivery.DeliveryId.make(1)))
  ]
})

/** The stores and the users of this database. */
const layerOf = (options: Postgres.Options) =>
  Users.layer.pipe(Layer.provideMerge(Postgres.layer(options)), Layer.provide(fixtures.seal))

describe("lost connections", () => {
  it.live("while the server is unavailable every call fails within 5 s, and later succeeds again", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make()
      const layer = layerOf({ url: Redacted.make(server.url) })
      yield* Effect.gen(function*() {
        const all = yield* calls
        yield* Effect.all(all, { concurrency: "unbounded" })
        yield* server.stop
        yield* Effect.forEach(all, failing, { concurrency: "unbounded" })
        yield* server.start
        yield* until(Effect.all(all, { concurrency: "unbounded" }))
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped))

  it.live(
    "with a connected but silent server, all calls fail within 5 s, including waiting ones; new connections serve later ones",
    () =>
      Effect.gen(function*() {
        const { url } = yield* TestDatabase.TestDatabase
        const network = yield* SilentNetwork.make(Redacted.value(url))
        const layer = layerOf({ url: Redacted.make(network.url) })
        yield* Effect.gen(function*() {
          const all = yield* calls
          yield* Effect.all(all, { concurrency: "unbounded" })
          network.silence()
          const grants = yield* GrantStore
          const many = Array.from(
            { length: 600 },
            (_, index) => grants.find(Application.ApplicationId.make(1), User.UserId.make(index + 1))
          )
          yield* Effect.forEach([...all, ...many], failing, { concurrency: "unbounded" })
          network.replace()
          yield* until(Effect.all(all, { concurrency: "unbounded" }))
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live.each(["BEGIN", "a statement", "COMMIT"] as const)(
    "a connection on which %s got no answer in time is not used again: later writes are there for everybody",
    (statement) =>
      Effect.gen(function*() {
        const { url } = yield* TestDatabase.TestDatabase
        const network = yield* SilentNetwork.make(Redacted.value(url))
        const [near, far] = yield* Effect.all([
          Layer.build(layerOf({ url: Redacted.make(network.url), maxConnections: 1 })),
          Layer.build(layerOf({ url }))
        ])
        const { connections, query, transaction } = yield* Effect.provide(Database.Database, near)
        const asking = query({ name: "", text: "SELECT 1" }, [])
        yield* asking
        const hold = Effect.sync(network.hold)
        const late = {
          BEGIN: Effect.zipRight(hold, transaction(asking)),
          "a statement": transaction(Effect.all([asking, hold, asking])),
          COMMIT: transaction(Effect.zipRight(asking, hold))
        }
        yield* failing(late[statement])
        expect(Option.map(yield* connections, ({ idle, open }) => open - idle)).toEqual(Option.some(1))
        network.deliver()
        yield* until(
          Effect.filterOrFail(connections, Option.exists(({ idle, open }) => idle === open), () => "a busy connection")
        )
        const { id } = yield* Effect.flatMap(
          Effect.provide(Users.Users, near),
          (users) => users.insert({ role: "athlete", email: "late@a.test", firstName: "A", lastName: "B" })
        )
        const found = yield* Effect.flatMap(Effect.provide(Users.Users, far), (users) => users.find(id))
        expect(Option.isSome(found)).toBe(true)
      }).pipe(Effect.scoped, Effect.provide(TestDatabase.layer))
  )

  it.live(
    "backends that are terminated under load fail the calls that they served, and no later ones",
    () =>
      Effect.gen(function*() {
        const { terminate, url } = yield* TestDatabase.TestDatabase
        yield* Effect.gen(function*() {
          const users = yield* Users.Users
          const done = yield* Deferred.make<void>()
          const insert = (index: number) =>
            users.insert({ role: "athlete", email: `${index}@a.test`, firstName: "A", lastName: "B" })
          const outcomes: Array<Either.Either<User.User, Store.StoreError | Users.EmailTaken>> = []
          const load = Effect.gen(function*() {
            while (!(yield* Deferred.isDone(done))) {
              outcomes.push(
                ...yield* Effect.forEach([1, 2, 3, 4], (lane) => Effect.either(insert(outcomes.length * 10 + lane)), {
                  concurrency: "unbounded"
                })
              )
            }
          })
          yield* Effect.all([load, Effect.zipRight(Effect.repeatN(terminate, 20), Deferred.succeed(done, undefined))], {
            concurrency: 2
          })
          const [failed, succeeded] = [outcomes.filter(Either.isLeft), outcomes.filter(Either.isRight)]
          expect(new Set(failed.map(({ left }) => left._tag))).toEqual(
            new Set(failed.length > 0 ? ["@startlist/core/StoreError"] : [])
          )
          const kept = yield* until(Effect.forEach(succeeded, ({ right }) => users.find(right.id)))
          expect(kept.every(Option.isSome)).toBe(true)
          yield* until(Effect.forEach([1, 2, 3], (index) => insert(-index)))
        }).pipe(Effect.provide(layerOf({ url })))
      }).pipe(Effect.provide(TestDatabase.layer))
  )
})

describe("wake-ups", () => {
  it.live("a save wakes the workers of its own node and of the others, also after a broken listening connection", () =>
    Effect.gen(function*() {
      const { terminate, url } = yield* TestDatabase.TestDatabase
      const node = Layer.build(Postgres.layer({ url }))
      const [one, two] = [yield* node, yield* node]
      const database = yield* Effect.provide(Database.Database, one)
      const other = yield* Effect.provide(Database.Database, two)
      const wakes = Effect.gen(function*() {
        const heard = Effect.forEach([database, other], ({ wakeUps }) => Stream.runHead(wakeUps), {
          concurrency: "unbounded"
        })
        const waking = Effect.repeat(database.wake, Schedule.spaced("20 millis"))
        const first = yield* Effect.raceFirst(heard, Effect.zipRight(waking, Effect.never))
        expect(first.map(Option.isSome)).toEqual([true, true])
      })
      yield* wakes
      yield* terminate
      yield* wakes
    }).pipe(Effect.scoped, Effect.provide([TestDatabase.layer, fixtures.seal])))
})

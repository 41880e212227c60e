import { assert, describe, expect, it } from "@effect/vitest"
import { Application, Event, Memory, Subscription } from "@startlist/core"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { DateTime, Deferred, Effect, Option, Queue, Stream } from "effect"
import * as Simulation from "../src/Simulation.ts"
import { size } from "./faults/detect.ts"

const { SubscriptionStore } = Subscription

/** Queues an event, so that the listeners get a hint. */
const hint = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const queue = yield* DeliveryQueue
  const at = DateTime.unsafeMake(0)
  const applicationId = Application.ApplicationId.make(1)
  const found = yield* subscriptions.findByApplication(applicationId)
  if (Option.isNone(found)) {
    yield* subscriptions.insert({
      applicationId,
      callbackUrl: "https://application.example.test/hook",
      createdAt: at,
      updatedAt: at
    })
  }
  const event = Event.Event.make({
    id: Event.EventId.make("evt_1"),
    aspectType: "deleted",
    objectType: "athlete",
    objectId: 1,
    updates: {},
    time: at,
    sequence: 1,
    trace: Option.none()
  })
  yield* queue.enqueue([{ event, audience: Event.Audience.Application({ applicationId }) }])
})

describe("the simulation", () => {
  it.live("finds all laws kept over many seeds, and everything that may happen does", () =>
    Effect.gen(function*() {
      const counts = yield* Simulation.check({ ...size, seeds: 12 })
      const all = [
        "Consented ok",
        "Redeemed ok",
        "Refreshed ok",
        "Called ok",
        "RevokedByUser ok",
        "StatusChanged ok",
        "StateSet ok",
        "PauseSet ok",
        "Ended ok",
        "Erased ok",
        "deliveries",
        "attempts",
        "delivered",
        "exhausted",
        "cancelled",
        "watched",
        "crashes before",
        "crashes during",
        "crashes after",
        "writes of dead nodes",
        "store faults",
        "callback faults"
      ]
      for (const what of all) assert.isAbove(counts.get(what) ?? 0, 0, what)
    }))

  it.live("signs out nobody who did not revoke: old tokens, lost answers, reloaded pages, several connections", () =>
    Effect.gen(function*() {
      const counts = yield* Simulation.check({ ...Simulation.stale, seeds: 6 })
      const all = ["connections", "lost answers", "Refreshed replaced", "Refreshed superseded", "Redeemed used"]
      for (const what of all) assert.isAbove(counts.get(what) ?? 0, 0, what)
      expect(counts.get("connections that a replay ended")).toBeUndefined()
    }))

  it.live("ends a connection of theirs only by a replay of its own line, and only with REPLAY=revoke", () =>
    Effect.gen(function*() {
      const counts = yield* Simulation.check({ ...Simulation.stale, replay: "revoke", seeds: 6 })
      assert.isAbove(counts.get("Refreshed replayed") ?? 0, 0)
      assert.isAbove(counts.get("connections that a replay ended") ?? 0, 0)
    }))

  it.live("has the same history for the same seed, and another for another", () =>
    Effect.gen(function*() {
      const [one, same, other] = yield* Effect.forEach([9, 9, 10], (seed) => Simulation.run({ ...size, seed }))
      expect(same).toStrictEqual(one)
      expect(other?.history).not.toStrictEqual(one?.history)
    }))

  it.live("needs no faults to be busy", () =>
    Effect.gen(function*() {
      const { counts, violation } = yield* Simulation.run({ seed: 3, hours: 0.5, pace: 400, faults: 0 })
      expect(violation).toBeUndefined()
      expect(counts.get("crashes during")).toBeUndefined()
      expect(counts.get("exhausted")).toBeUndefined()
      assert.isAbove(counts.get("delivered") ?? 0, 0)
    }))
})

describe("the stores in memory", () => {
  it.live("keep a hint for each listener, also beside one that takes none", () =>
    Effect.scoped(Effect.gen(function*() {
      const queue = yield* DeliveryQueue
      const heard = yield* Queue.unbounded<void>()
      const listen = (take: Effect.Effect<unknown>) => Effect.forkScoped(Stream.runForEach(queue.wakeUps, () => take))
      const stuck = yield* Deferred.make<void>()
      yield* listen(Effect.zipRight(Deferred.succeed(stuck, undefined), Effect.never))
      yield* listen(Queue.offer(heard, undefined))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      for (let round = 0; round < 5; round++) {
        yield* hint
        yield* Queue.take(heard)
      }
      yield* Deferred.await(stuck)
    })).pipe(Effect.provide(Memory.layer)))
})

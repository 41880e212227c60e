import { describe, expect, it } from "@effect/vitest"
import { Application, Grant, Memory, Policy, Secrets, Subscription, User } from "@startlist/core"
import { DateTime, Effect, Fiber, Option, TestClock } from "effect"
import * as Faults from "../src/Faults.ts"

const { Fault } = Faults
const { SubscriptionStore } = Subscription

/** Each name stands for an application. */
const names = new Map<string, Application.ApplicationId>()

const applicationOf = (name: string) => {
  const id = names.get(name) ?? Application.ApplicationId.make(names.size + 1)
  names.set(name, id)
  return id
}

const insert = (name: string) =>
  Effect.gen(function*() {
    const subscriptions = yield* SubscriptionStore
    const now = yield* DateTime.now
    const fields = { callbackUrl: "https://app.test/events", createdAt: now, updatedAt: now }
    return yield* subscriptions.insert({ ...fields, applicationId: applicationOf(name) })
  })

const isThere = (name: string) =>
  Effect.flatMap(
    SubscriptionStore,
    (subscriptions) => Effect.map(subscriptions.findByApplication(applicationOf(name)), Option.isSome)
  )

const stores = Faults.onDemand(Memory.layer)

describe("a fault", () => {
  it.effect("before a write leaves nothing written, and only the next calls suffer it", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(2, Fault.FailsBefore())
      expect((yield* Effect.flip(insert("ada")))._tag).toBe("@startlist/core/StoreError")
      expect((yield* Effect.flip(isThere("ada")))._tag).toBe("@startlist/core/StoreError")
      expect(yield* isThere("ada")).toBe(false)
    }).pipe(Effect.provide(stores)))

  it.effect("after a write looks the same to the caller, and the write is there", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(1, Fault.FailsAfter(), ["SubscriptionStore.insert"])
      expect(yield* isThere("ada")).toBe(false)
      expect((yield* Effect.flip(insert("ada")))._tag).toBe("@startlist/core/StoreError")
      expect(yield* isThere("ada")).toBe(true)
    }).pipe(Effect.provide(stores)))

  it.effect("that is slow writes nothing for a caller that gave up before", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(1, Fault.Slow({ by: "10 seconds" }))
      const waiting = yield* Effect.fork(Effect.timeoutOption(insert("ada"), "5 seconds"))
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(waiting)).toStrictEqual(Option.none())
      expect(yield* isThere("ada")).toBe(false)
    }).pipe(Effect.provide(stores)))

  it.effect("that answers late has written immediately, whether the caller waits or not", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(1, Fault.AnswersLate({ by: "10 seconds" }))
      const waiting = yield* Effect.fork(Effect.timeoutOption(insert("ada"), "5 seconds"))
      yield* TestClock.adjust("1 second")
      expect(yield* isThere("ada")).toBe(true)
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(waiting)).toStrictEqual(Option.none())
    }).pipe(Effect.provide(stores)))

  it.effect("that writes late writes also when the caller has given up", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(1, Fault.WritesLate({ by: "10 seconds" }))
      const waiting = yield* Effect.fork(Effect.timeoutOption(insert("ada"), "5 seconds"))
      yield* TestClock.adjust("9 seconds")
      expect(yield* Fiber.join(waiting)).toStrictEqual(Option.none())
      expect(yield* isThere("ada")).toBe(false)
      yield* TestClock.adjust("2 seconds")
      expect(yield* isThere("ada")).toBe(true)
    }).pipe(Effect.provide(stores)))

  it.effect("that repeats gives the first answer, and the second has no effect on a good store", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      yield* faults.next(1, Fault.Repeats())
      expect((yield* insert("ada")).id).toBe(1)
      expect((yield* Effect.flip(insert("ada")))._tag).toBe("@startlist/core/AlreadySubscribed")
      expect((yield* insert("eve")).id).toBe(2)
    }).pipe(Effect.provide(stores)))

  it.effect("that conflicts befalls a compare-and-set that would succeed, and nothing else", () =>
    Effect.gen(function*() {
      const faults = yield* Faults.Faults
      const grants = yield* Grant.GrantStore
      const userId = User.UserId.make(1)
      const applicationId = Application.ApplicationId.make(1)
      const now = yield* DateTime.now
      const consent = Grant.consent(
        Option.none(),
        {
          application: { id: applicationId, epoch: 0 },
          user: { id: userId, role: "athlete" },
          scope: ["read"],
          redirectUri: "https://application.example.test/",
          state: Option.none(),
          challenge: Option.none()
        },
        Secrets.Fingerprint.make("code"),
        now,
        Policy.documented
      )
      yield* faults.always(Fault.Conflicts())
      expect((yield* Effect.flip(grants.save(consent)))._tag).toBe("@startlist/core/Conflict")
      expect(yield* grants.find(applicationId, userId)).toStrictEqual(Option.none())
      yield* faults.none
      yield* grants.save(consent)
    }).pipe(Effect.provide(stores)))
})

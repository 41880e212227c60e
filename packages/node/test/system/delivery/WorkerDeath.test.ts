/**
 * A worker dies, or is paused past its lease: a receiver may get an event twice, but never loses one (laws 4 and 5).
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { makeDatabaseProxy } from "./support/DatabaseProxy.ts"
import { leaseMillis, makeInstallation, untilTime } from "./support/Installation.ts"
import { answer, makeReceiver } from "@startlist/test-support/Receiver"

const path = "/callback"
/** An installation with one subscriber, and a registration whose events it gets. */
const prepare = Effect.gen(function*() {
  const receiver = yield* makeReceiver
  const installation = yield* makeInstallation()
  const athlete = yield* installation.newAthlete
  const subscriber = yield* installation.subscribe(receiver, path, [athlete])
  const registration = yield* installation.register(athlete)
  return { athlete, installation, receiver, registration, subscriber }
})

describe.concurrent("a worker is killed", () => {
  it.scopedLive(
    "during its request: another worker repeats the request once after the lease",
    () =>
      Effect.gen(function*() {
        const { installation, receiver, registration, subscriber } = yield* prepare
        const first = yield* installation.node()
        receiver.behave(path, () => first.child.kill("SIGKILL"))
        yield* installation.change(registration, "validated")
        yield* Effect.promise(() => first.exit)
        const leaseEnds = yield* installation.leaseEnds
        receiver.behave(path, answer(200))
        yield* installation.node()

        const [delivery] = yield* installation.until(subscriber, "recorded", ([one]) => one?.state === "delivered")
        const [held, repeated, ...more] = receiver.events(path)
        expect(more).toEqual([])
        expect(repeated?.at).toBeGreaterThanOrEqual(leaseEnds)
        expect(repeated?.id).toBe(held?.id)
        expect(repeated?.body).toBe(held?.body)
        expect([held?.answered, repeated?.answered]).toEqual([0, 200])
        expect([held?.isSigned, repeated?.isSigned]).toEqual([true, true])
        expect(delivery?.attempts.map(({ outcome }) => outcome)).toEqual(["delivered"])
      })
  )

  it.scopedLive(
    "after the 200, before it is recorded: the receiver gets the event exactly once more",
    () =>
      Effect.gen(function*() {
        const { installation, receiver, registration, subscriber } = yield* prepare
        const proxy = yield* makeDatabaseProxy(Redacted.value(installation.url))
        const first = yield* installation.node({ DATABASE_URL: proxy.url })
        let isKeptBack = Promise.resolve()
        receiver.behave(path, (receipt, response) => {
          // Hold everything that the worker sends to the database, including the result of this attempt.
          isKeptBack = proxy.holdBack("queries", "delivery_settle")
          answer(200)(receipt, response)
        })
        yield* installation.change(registration, "validated")
        yield* Effect.promise(() => receiver.posts(1, path))
        yield* Effect.promise(() => isKeptBack)
        yield* Effect.promise(() => first.stop("SIGKILL"))
        const leaseEnds = yield* installation.leaseEnds
        yield* installation.node()

        const [delivery] = yield* installation.until(subscriber, "recorded", ([one]) => one?.state === "delivered")
        yield* installation.change(registration, "paid")
        yield* installation.until(subscriber, "the next", ([, next]) => next?.state === "delivered")
        const [acknowledged, repeated, next, ...more] = receiver.events(path)
        expect(more).toEqual([])
        expect([acknowledged?.answered, repeated?.answered]).toEqual([200, 200])
        expect(repeated?.at).toBeGreaterThanOrEqual(leaseEnds)
        expect(repeated?.id).toBe(acknowledged?.id)
        expect(repeated?.body).toBe(acknowledged?.body)
        expect(next?.id).not.toBe(repeated?.id)
        expect(delivery?.attempts).toHaveLength(1)
      })
  )
})

describe.concurrent("a worker is paused for three leases", () => {
  it.scopedLive(
    "with a request in flight: another worker delivers, and the result of the first is refused",
    () =>
      Effect.gen(function*() {
        const { athlete, installation, receiver, registration, subscriber } = yield* prepare
        const paused = yield* installation.node()
        let answerLate = () => {}
        receiver.behave(path, (receipt, response) => {
          paused.child.kill("SIGSTOP")
          answerLate = () => answer(500)(receipt, response)
          receiver.behave(path, answer(200))
        })
        yield* installation.change(registration, "validated")
        yield* Effect.promise(() => receiver.posts(1, path))
        const leaseEnds = yield* installation.leaseEnds
        const second = yield* installation.node()
        const [before] = yield* installation.until(subscriber, "recorded", ([one]) => one?.state === "delivered")
        yield* Effect.promise(() => second.stop())

        answerLate()
        yield* untilTime(leaseEnds + 2 * leaseMillis)
        paused.child.kill("SIGCONT")
        yield* installation.change(yield* installation.register(athlete), "validated")
        yield* installation.until(subscriber, "what comes after", ([, next]) => next?.state === "delivered")
        const exit = yield* Effect.promise(() => paused.stop())
        expect(exit).toEqual({ code: 0, signal: null })

        const [after] = yield* installation.recorded(subscriber)
        expect(after).toEqual(before)
        expect(after?.attempts.map(({ outcome }) => outcome)).toEqual(["delivered"])
        const [held, delivered] = receiver.events(path)
        expect(delivered?.id).toBe(held?.id)
        expect(delivered?.body).toBe(held?.body)
        expect(receiver.events(path)).toHaveLength(3)
      })
  )

  it.scopedLive("with a claim but no request: it starts no request when it resumes", () =>
    Effect.gen(function*() {
      const { athlete, installation, receiver, registration, subscriber } = yield* prepare
      const proxy = yield* makeDatabaseProxy(Redacted.value(installation.url))
      const paused = yield* installation.node({ DATABASE_URL: proxy.url })
      const claimed = proxy.holdBack("answers", path)
      yield* installation.change(registration, "validated")
      yield* Effect.promise(() => claimed)
      paused.child.kill("SIGSTOP")
      const leaseEnds = yield* installation.leaseEnds
      const second = yield* installation.node()
      yield* installation.until(subscriber, "recorded", ([one]) => one?.state === "delivered")
      yield* Effect.promise(() => second.stop())

      yield* untilTime(leaseEnds + 2 * leaseMillis)
      proxy.release()
      paused.child.kill("SIGCONT")
      yield* installation.change(yield* installation.register(athlete), "validated")
      yield* installation.until(subscriber, "what comes after", ([, next]) => next?.state === "delivered")
      const exit = yield* Effect.promise(() => paused.stop())
      expect(exit).toEqual({ code: 0, signal: null })

      const [first, next, ...more] = receiver.events(path)
      expect(more).toEqual([])
      expect(first?.at).toBeGreaterThanOrEqual(leaseEnds)
      expect(next?.id).not.toBe(first?.id)
    }))
})

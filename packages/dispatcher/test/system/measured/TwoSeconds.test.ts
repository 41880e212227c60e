import { describe, expect, it } from "@effect/vitest"
import type { Callbacks } from "@startlist/core"
import { Duration, Effect, Exit } from "effect"
import { dispatcher, post, responding, validation } from "../../Receivers.ts"
import type * as http from "node:http"

/** Responds a given time after the start of the attempt, which the test sets. The connection is part of that time. */
const answeringAfter = (millis: number, answer: (response: http.ServerResponse) => void) => {
  const attempt = { startedAt: 0 }
  return Effect.map(
    responding((_, response) => {
      setTimeout(answer, attempt.startedAt + millis - performance.now(), response)
    }),
    (receiver) => ({ ...receiver, attempt })
  )
}

const json = (response: http.ServerResponse) =>
  response.writeHead(200, { "content-type": "application/json" }).end("{}")

/** A delivery and a validation at the same time. */
const bothAttempts = (callbacks: Callbacks.Callbacks.Service, url: string) =>
  Effect.all([callbacks.deliver(post(url)), callbacks.validate(validation(url))], { concurrency: 2 })

/**
 * Makes an attempt whose outcome depends on a tenth of a second, and checks the outcome. If the check fails and the machine
 * paused the process for half of that time, it begins again. `late`: the time in milliseconds after `startedAt` by which the
 * attempt had begun.
 */
const undisturbed = <A>(
  from: number,
  attempt: { startedAt: number },
  effect: Effect.Effect<A>,
  check: (result: A, late: number) => void
): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let n = 0; n < 100; n++) {
      attempt.startedAt = performance.now()
      let last = attempt.startedAt
      let longest = 0
      let late = 0
      setImmediate(() => late = performance.now() - attempt.startedAt)
      const tick = () => {
        const now = performance.now()
        if (now - attempt.startedAt > from) longest = Math.max(longest, now - last)
        last = now
      }
      const ticking = setInterval(tick, 5)
      const result = yield* effect
      clearInterval(ticking)
      tick()
      const checked = yield* Effect.exit(Effect.sync(() => check(result, late)))
      if (Exit.isSuccess(checked) || longest < 50) return yield* checked
    }
    return yield* Effect.dieMessage("this machine is too busy to tell 1.9 from 2.0 seconds, 100 times in a row")
  })

// These tests use real time: two seconds from the start of the attempt (requirements §8).
describe("two seconds", () => {
  it.scopedLive("are enough for a 200 after 1.9 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const { attempt, url } = yield* answeringAfter(1900, json)
      yield* undisturbed(1880, attempt, bothAttempts(callbacks, url), (answers, late) => {
        for (const answer of answers) {
          expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "{}" })
          const afterMs = answer._tag === "Answered" ? answer.afterMs : NaN
          expect(afterMs).toBeGreaterThanOrEqual(1890 - late)
          expect(afterMs).toBeLessThanOrEqual(2000)
        }
      })
    }))

  it.scopedLive("are too little for a 200 after 2.1 s", () =>
    Effect.gen(function*() {
      const callbacks = yield* dispatcher()
      const { allClosed, attempt, url } = yield* answeringAfter(2100, json)
      attempt.startedAt = performance.now()
      expect((yield* bothAttempts(callbacks, url)).map(({ _tag }) => _tag)).toEqual(["TimedOut", "TimedOut"])
      yield* allClosed
    }))

  it.scopedLive(
    "do not limit a delivery whose headers arrived in time and whose body does not end",
    () =>
      Effect.gen(function*() {
        const callbacks = yield* dispatcher()
        const { allClosed, attempt, url } = yield* answeringAfter(1850, (response) => {
          response.writeHead(200).write("so far")
        })
        yield* undisturbed(1830, attempt, Effect.timed(callbacks.deliver(post(url))), ([took, answer]) => {
          expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "so far" })
          expect(Duration.toMillis(took)).toBeLessThan(2000)
        })
        yield* allClosed
      })
  )
})

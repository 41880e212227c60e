/** Two nodes on one PostgreSQL are repeatedly killed at random under load (laws 4 to 8). */
import { expect, it } from "@effect/vitest"
import { RegistrationId } from "@startlist/core/Registration"
import { DateTime, Duration, Effect, Fiber } from "effect"
import { makeInstallation, type Subscriber } from "./support/Installation.ts"
import { broken } from "./support/Invariants.ts"
import { answer, type Behaviour, makeReceiver } from "@startlist/test-support/Receiver"

const writers = 6
/** Maximum number of changes of a registration that the slowest receiver has not received yet. */
const ahead = 6
/** Time after which no node is killed. */
const killing = Duration.seconds(10)

/** A number below `bound` that depends only on the text. */
const pick = (text: string, bound: number): number =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 100_003, 7) % bound

/** Fails the first attempts of some events and all attempts of others; counts the events of each object. */
const moody = (events: Map<number, number> = new Map()): Behaviour => {
  const seen = new Map<string, number>()
  return (receipt, response) => {
    const times = seen.get(receipt.id) ?? 0
    seen.set(receipt.id, times + 1)
    const { object_id: object } = JSON.parse(receipt.body)
    if (times === 0) events.set(object, (events.get(object) ?? 0) + 1)
    const failures = [0, 0, 0, 0, 1, 1, 2, 100][pick(receipt.id, 8)] ?? 0
    answer(times < failures ? 500 : 200)(receipt, response)
  }
}

it.scopedLive(
  "every event is acknowledged or has exactly three attempts, in order and with the same bytes",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const installation = yield* makeInstallation()
      const athlete = yield* installation.newAthlete
      const subscribe = (path: string, behaviour?: Behaviour) =>
        installation.subscribe(receiver, path, [athlete], behaviour)
      const got = new Map<number, number>()
      const kept = yield* Effect.all({
        good: subscribe("/good"),
        moody: subscribe("/moody", moody(got)),
        // Long enough that a killed worker often has a request in flight.
        slow: subscribe("/slow", (receipt, response) => setTimeout(() => answer(200)(receipt, response), 150))
      })
      const leaving = yield* subscribe("/leaving", moody())
      const registrations = yield* Effect.replicateEffect(installation.register(athlete), writers)
      const nodes = yield* Effect.all([installation.node(), installation.node()], { concurrency: 2 })

      let isOver = false
      let written = 0
      const write = (id: number) =>
        Effect.gen(function*() {
          for (let tried = 1; !isOver; tried++) {
            yield* installation.change(RegistrationId.make(id), `status ${tried}`)
            written++
            yield* Effect.promise(() => receiver.until(() => isOver || (got.get(id) ?? 0) > tried - ahead, "progress"))
          }
        })
      const load = yield* Effect.fork(Effect.forEach(registrations, write, { concurrency: "unbounded" }))

      const started = Date.now()
      let kills = 0
      let removed = 0
      while (kills < 3 || Date.now() - started < Duration.toMillis(killing)) {
        const before = receiver.events().length
        const progress = 10 + pick(`progress ${kills}`, 60)
        yield* Effect.promise(() => receiver.until(() => receiver.events().length >= before + progress, "progress"))
        const victim = pick(`victim ${kills}`, 2)
        yield* Effect.promise(async () => nodes[victim]?.stop("SIGKILL"))
        if (++kills === 2) {
          yield* installation.subscriptions.remove(leaving.subscription.id, yield* DateTime.now)
          removed = Date.now()
        }
        nodes[victim] = yield* installation.node()
      }
      isOver = true
      yield* Fiber.join(load)

      for (const subscriber of Object.values(kept)) {
        const deliveries = yield* installation.until(
          subscriber,
          "settled",
          (found) => found.every(({ state }) => state !== "pending")
        )
        expect(deliveries).toHaveLength(written)
        expect(broken(deliveries, receiver.events(subscriber.path))).toEqual([])
      }
      const statesOf = (subscriber: Subscriber) =>
        Effect.map(installation.recorded(subscriber), (found) => new Set(found.map(({ state }) => state)))
      expect(yield* statesOf(kept.good)).toEqual(new Set(["delivered"]))
      expect(yield* statesOf(kept.moody)).toEqual(new Set(["delivered", "exhausted"]))

      const [left, came] = [yield* installation.recorded(leaving), receiver.events("/leaving")]
      const cancelled = new Set<string>(left.flatMap(({ event, state }) => state === "cancelled" ? [event.id] : []))
      expect(cancelled.size).toBeGreaterThan(0)
      expect(left.filter(({ event }) => event.time.epochMillis > removed)).toEqual([])
      expect(came.filter(({ timestamp }) => timestamp * 1000 > removed)).toEqual([])
      expect(broken(
        left.filter(({ state }) => state !== "cancelled"),
        came.filter(({ id }) => !cancelled.has(id))
      )).toEqual([])
    })
)

/** A slow or dead receiver delays only its own events (law 9). */
import { expect, it } from "@effect/vitest"
import type { Delivery } from "@startlist/core"
import { Effect } from "effect"
import { makeInstallation } from "./support/Installation.ts"
import { answer, type Behaviour, hang, makeReceiver } from "@startlist/test-support/Receiver"

const subscribers = 100
const rounds = 3
const changesOfRound = 4

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Infinity

it.scopedLive(
  "if one or ten of 100 receivers hang, the others get their events without delay",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const installation = yield* makeInstallation()
      const athlete = yield* installation.newAthlete
      const paths = Array.from({ length: subscribers }, (_, i) => `/${i}`)

      // Time of each change, and time until each receiver had its event.
      const asked = new Map<string, number>()
      let delays: Array<number> = []
      const prompt: Behaviour = (receipt, response) => {
        answer(200)(receipt, response)
        const { updates } = JSON.parse(receipt.body)
        delays.push(receipt.at - (asked.get(updates.registration_status) ?? 0))
      }
      const made = yield* Effect.forEach(paths, (path) => installation.subscribe(receiver, path, [athlete], prompt), {
        concurrency: 8
      })
      yield* installation.node()

      const lone = yield* installation.newAthlete
      yield* installation.subscribe(receiver, "/lone", [lone], prompt)
      const idle = yield* installation.register(lone)
      for (let i = 1; i <= 20; i++) {
        asked.set(`idle ${i}`, Date.now())
        yield* installation.change(idle, `idle ${i}`)
        yield* Effect.promise(() => receiver.until(() => delays.length === i, "an event of an idle service"))
      }
      console.log(`from the change to the receipt, idle: ${percentile(delays, 0.5)} ms at the median`)

      // Each change is of its own registration, so a hanging receiver has one waiting event per change.
      let changes = 0
      const round = (hanging: number) =>
        Effect.gen(function*() {
          delays = []
          for (let i = 1; i <= changesOfRound; i++) {
            const registration = yield* installation.register(athlete)
            const status = `change ${++changes}`
            asked.set(status, Date.now())
            yield* installation.change(registration, status)
            yield* Effect.promise(() => receiver.until(() => delays.length === i * (subscribers - hanging), status))
          }
          return percentile(delays, 0.99)
        })

      /** The median of several rounds: the machine has other things to do, too. */
      const measure = (hanging: number) =>
        Effect.gen(function*() {
          for (const path of paths.slice(0, hanging)) receiver.behave(path, hang)
          yield* round(hanging)
          const measured = percentile(yield* Effect.replicateEffect(round(hanging), rounds), 0.5)
          for (const path of paths.slice(0, hanging)) receiver.behave(path, answer(200))
          const isOver = (deliveries: ReadonlyArray<Delivery.Delivery>) =>
            deliveries.every(({ state }) => state !== "pending")
          for (const subscriber of made.slice(0, hanging)) yield* installation.until(subscriber, "the end", isOver)
          for (const path of paths.slice(0, hanging)) receiver.behave(path, prompt)
          return measured
        })

      let before = yield* measure(0)
      for (const hanging of [1, 10]) {
        const measured = yield* measure(hanging)
        const after = yield* measure(0)
        console.log(
          `99th percentile from commit to receipt: ${before} ms; ${hanging} hang: ${measured} ms; ${after} ms`
        )
        // Compare with both sides, since the load of the machine may have changed. Short times vary by up to 50 ms.
        const base = Math.max(before, after)
        expect(measured).toBeLessThanOrEqual(Math.max(2 * base, base + 50))
        before = after
      }
    })
)

/** A node that gets a stop signal under load exits in time, without repeated events (requirements §6.3). */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { grouped, makeInstallation } from "./support/Installation.ts"
import { broken, ranOutOfTime } from "./support/Invariants.ts"
import { answer, makeReceiver, type Received } from "@startlist/test-support/Receiver"

const changes = 400
const registrations = 20

it.scopedLive(
  "SIGTERM under load: exit 0 within 10 s, no event acknowledged twice, none lost",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const installation = yield* makeInstallation()
      const athlete = yield* installation.newAthlete
      const paths = ["/a", "/b", "/c"]
      const subscribers = yield* Effect.forEach(paths, (path) =>
        // Slow enough that there is always something in flight.
        installation.subscribe(
          receiver,
          path,
          [athlete],
          (receipt, response) => setTimeout(() => answer(200)(receipt, response), 30)
        ))
      const ids = yield* Effect.replicateEffect(installation.register(athlete), registrations)
      const load = yield* Effect.fork(
        Effect.forEach(
          ids,
          (id) =>
            Effect.forEach(
              Array.from({ length: changes / registrations }, (_, i) => i),
              (i) => installation.change(id, `status ${i}`)
            ),
          { concurrency: "unbounded" }
        )
      )
      for (let stop = 1; stop <= 2; stop++) {
        const node = yield* installation.node()
        const before = receiver.events().length
        yield* Effect.promise(() => receiver.until(() => receiver.events().length >= before + 100, "load"))
        const asked = Date.now()
        const exit = yield* Effect.promise(() => node.stop("SIGTERM"))
        expect(exit).toEqual({ code: 0, signal: null })
        expect(Date.now() - asked).toBeLessThan(10_000)
        expect(node.stdout()).not.toContain("\"WARN\"")
        // Deliveries in flight are finished and recorded, so that no lease must expire.
        const { rows } = yield* Effect.promise(() =>
          installation.admin.query(
            "SELECT count(*)::integer AS n FROM startlist_deliveries WHERE lease_ends IS NOT NULL"
          )
        )
        expect(rows).toEqual([{ n: 0 }])
        if (stop === 1) yield* Fiber.join(load)
      }
      yield* installation.node()
      for (const subscriber of subscribers) {
        const deliveries = yield* installation.until(
          subscriber,
          "settled",
          (found) => found.length === changes && found.every(({ state }) => state === "delivered")
        )
        const receipts = receiver.events(subscriber.path)
        expect(broken(deliveries, receipts)).toEqual([])
        // No event came twice, unless the machine paused: then the earlier attempt is recorded as a timeout.
        const came = grouped<Received, string>(receipts, ({ id }) => id)
        const repeated = deliveries.filter(({ attempts, event }) =>
          !attempts.slice(0, -1).every(ranOutOfTime) || (came.get(event.id)?.length ?? 0) > attempts.length
        )
        expect(repeated).toEqual([])
      }
    })
)

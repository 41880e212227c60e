/** Hostile requests to every route of the real service, for a short time. `npm run fuzz` runs longer. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { athleteStatus } from "@startlist/test-support/Consent"
import { operate } from "@startlist/test-support/Operator"
import { fuzz } from "./support/Fuzzing.ts"
import { makeMeasuredService } from "./support/MeasuredService.ts"
import { fuzzReaders } from "./support/FuzzedReaders.ts"
import { startReaders } from "./support/Readers.ts"
import { makeWorld } from "./support/World.ts"

const seed = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 1_000_000_000))

it("hostile requests to the client's inbox and the fake get only specified responses", async () => {
  const readers = await startReaders()
  try {
    expect(await fuzzReaders(readers, { seed, time: 4_000 })).toBeGreaterThan(100)
  } finally {
    readers.stop()
  }
})

describe("hostile requests", () => {
  it.scopedLive("may erase or disable users with the operator token: the world is renewed with others", () =>
    Effect.gen(function*() {
      const service = yield* makeMeasuredService()
      yield* Effect.promise(async () => {
        const world = await makeWorld(service)
        try {
          const { platformId, userId } = world.values()
          expect((await operate(service, "DELETE", `/users/${userId}`)).status).toBe(204)
          await world.renew()
          expect((await operate(service, "POST", `/users/${world.values()["userId"]}/disable`)).status).toBe(200)
          expect((await operate(service, "POST", `/users/${platformId}/disable`)).status).toBe(200)
          await world.renew()
          expect(await athleteStatus(service, String(world.values()["access"]))).toBe(200)
        } finally {
          world.close()
        }
      })
    }))

  it.scopedLive(
    "get only specified responses, free their sockets, and leave no secret in the log",
    () =>
      Effect.gen(function*() {
        const service = yield* makeMeasuredService()
        const { requests, seen } = yield* Effect.promise(() => fuzz(service, { seed, time: 8_000 }))
        const untouched = [...seen].filter(([, statuses]) => statuses.size === 0).map(([name]) => name)
        /** A form without its fields and the one that a page shows are of the same route. */
        const routes = new Map<string, ReadonlyArray<number>>()
        for (const [name, statuses] of seen) {
          const route = name.replace(/\{\{(?:spareC|c)lientId\}\}/, "{client_id}").replace(
            "{{deliveryId}}",
            "{delivery_id}"
          )
          routes.set(route, [...routes.get(route) ?? [], ...statuses.keys()])
        }
        const refusedAlways = [...routes].filter(([, statuses]) => statuses.every((status) => status >= 400))
        expect(untouched).toEqual([])
        expect(refusedAlways.length).toBeLessThan(routes.size / 4)
        expect(requests).toBeGreaterThan(seen.size)
      })
  )
})

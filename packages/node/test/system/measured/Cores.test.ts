/** The gain of a second process, measured by CPU time so that other work on the machine does not matter. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { obtainTokens } from "@startlist/test-support/Consent"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import type { Service } from "@startlist/test-support/ServiceProcess"
import { load } from "../hostile/support/Load.ts"

/** Enough clients of each process to keep it busy: with fewer, it batches fewer lookups, so each check takes more time. */
const clients = 256

/** Milliseconds of a measurement, and before it, in which V8 compiles what is used. */
const window = 8000

/** Seconds of processor time of each process of a node; the name of the only one is empty. */
const processorSeconds = async ({ url }: Service): Promise<ReadonlyMap<string, number>> => {
  const page = await (await fetch(`${url}/metrics`)).text()
  const samples = page.matchAll(/^process_cpu_seconds_total(?:\{process="(\w+)"\})? (\S+)$/gm)
  return new Map([...samples].map(([, name = "", value]) => [name, Number(value)]))
}

/**
 * Starts a node. Returns a measurement of the seconds that its busiest process spends on a bearer check of the node: the
 * reciprocal bounds their rate.
 */
const busiestPerCheck = (processes: number) =>
  Effect.gen(function*() {
    const { url } = yield* makeDatabase
    const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES: String(processes) })
    return yield* Effect.promise(async () => {
      const owner = await createUser(node, "platform")
      const client = await createApplication(node, owner)
      const { access_token } = await obtainTokens(node, client, await createUser(node, "athlete"))
      const check = {
        method: "GET",
        path: "/api/v1/athlete",
        headers: { authorization: `Bearer ${access_token}` },
        body: ""
      }
      return async () => {
        const end = performance.now() + window
        const before = await processorSeconds(node)
        const port = Number(new URL(node.url).port)
        const taken = await load(port, clients * processes, () => check, () => performance.now() > end)
        const after = await processorSeconds(node)
        expect(taken.filter(({ status }) => status !== 200)).toEqual([])
        const spent = [...after].map(([name, seconds]) => seconds - (before.get(name) ?? 0))
        return Math.max(...spent) / taken.length
      }
    })
  })

describe("two processes", () => {
  it.scopedLive(
    "the busiest of two processes uses at most two thirds of the CPU time of a single one per bearer check",
    () =>
      Effect.gen(function*() {
        const [one, two] = [yield* busiestPerCheck(1), yield* busiestPerCheck(2)]
        // Both at the same time: a process takes more CPU time for the same work if others use the core, too.
        const measure = () => Promise.all([one(), two()])
        const [single, busiest] = yield* Effect.promise(() => measure().then(measure))
        console.log(
          `microseconds per check: ${(single * 1e6).toFixed(0)} in one process, ${
            (busiest * 1e6).toFixed(0)
          } in the busiest of two`
        )
        expect(single / busiest).toBeGreaterThan(1.5)
      })
  )
})

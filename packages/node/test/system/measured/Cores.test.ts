/** The gain of a second process, measured by CPU time so that other work on the machine does not matter. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { obtainTokens } from "@startlist/test-support/Consent"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import type { Service } from "@startlist/test-support/ServiceProcess"
import { load } from "../hostile/support/Load.ts"

/** Enough clients to keep two processes busy: an idle process batches fewer lookups, so each check takes more time. */
const [clients, warmUp, measured] = [256, 8000, 12_000]

/** Seconds of processor time of each process of a node; the name of the only one is empty. */
const processorSeconds = async ({ url }: Service): Promise<ReadonlyMap<string, number>> => {
  const page = await (await fetch(`${url}/metrics`)).text()
  const samples = page.matchAll(/^process_cpu_seconds_total(?:\{process="(\w+)"\})? (\S+)$/gm)
  return new Map([...samples].map(([, name = "", value]) => [name, Number(value)]))
}

/** Seconds that the busiest process spends on a bearer check of the node: its reciprocal bounds their rate. */
const busiestPerCheck = (PROCESSES: string) =>
  Effect.gen(function*() {
    const { url } = yield* makeDatabase
    const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES })
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
      const run = (count: number) =>
        load(Number(new URL(node.url).port), clients, () => check, (taken) => taken.length >= count)
      await run(warmUp)
      const before = await processorSeconds(node)
      const taken = await run(measured)
      const after = await processorSeconds(node)
      expect(taken.filter(({ status }) => status !== 200)).toEqual([])
      const spent = [...after].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)] as const)
      console.log(
        `PROCESSES=${PROCESSES}: ${spent.map(([name, seconds]) => `${name} ${seconds.toFixed(2)} s`).join(", ")}`
      )
      return Math.max(...spent.map(([, seconds]) => seconds)) / taken.length
    })
  })

describe("two processes", () => {
  it.scopedLive(
    "the busiest of two processes uses at most two thirds of the CPU time of a single one per bearer check",
    () =>
      Effect.gen(function*() {
        const one = yield* Effect.scoped(busiestPerCheck("1"))
        const two = yield* Effect.scoped(busiestPerCheck("2"))
        console.log(`two processes can make ${(one / two).toFixed(2)} times the checks of one`)
        expect(one / two).toBeGreaterThan(1.5)
      })
  )
})

/** The laws under another test runner, and under none. The two laws that find the bug print what is wrong. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const node = (...args: ReadonlyArray<string>): Promise<{ readonly status: number; readonly output: string }> =>
  new Promise((resolve) => {
    // Without vitest and its variables.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/VITEST|NODE_OPTIONS/.test(name)))
    const flags = ["--import", file("../withoutVitest.mjs"), "--import", "tsx", "--conditions=@startlist/source"]
    const child = execFile(process.execPath, [...flags, ...args], { env, maxBuffer: 1e8 }, (_, stdout, stderr) => {
      resolve({ status: child.exitCode ?? -1, output: stdout + stderr })
    })
  })

const nodeTest = (name: string, pattern: string) => node(`--test-name-pattern=${pattern}`, "--test", file(name))

const seed = /Run it again: STARTLIST_SEED=\d+/

describe("the laws of the stores", () => {
  it("run with node:test", async () => {
    const { output, status } = await nodeTest("../laws.node.ts", "^(records|the queue): ")
    expect([status, output], output.slice(-2000)).toEqual([0, expect.stringMatching(/^# fail 0$|ℹ fail 0$/m)])
    expect(output).toMatch(/^(#|ℹ) pass \d\d$/m)
  })

  it("run alone with node:test, as after each step of docs/stores.md", async () => {
    const { output, status } = await nodeTest("../laws.node.ts", "calls of applications")
    expect([status, output], output.slice(-2000)).toEqual([0, expect.stringMatching(/^(#|ℹ) pass 1$/m)])
  })

  it("say what is wrong with node:test: random programs of subscriptions find one word less", async () => {
    const { output, status } = await nodeTest("../brokenLaws.node.ts", "calls of subscriptions")
    expect([status, output], output.slice(-2000)).toEqual([1, expect.stringMatching(/^# fail 1$|ℹ fail 1$/m)])
    expect(output).toMatch(/random programs: calls of subscriptions[^]*not so: identifier \d+ is a new one/)
    expect(output).toMatch(seed)
  })

  it("run without any test runner, all of them", async () => {
    const { output, status } = await node(file("../laws.script.ts"))
    expect([status, output]).toEqual([0, expect.stringMatching(/^(\d+) of \1 laws hold/m)])
  })

  it("say what is wrong without any test runner: the law that subscribes an application again finds it, too", async () => {
    const { output, status } = await node(file("../brokenLaws.script.ts"))
    const law = "the queue: a delivery is made again also while it waits, but only for its own subscription"
    expect([status, output]).toEqual([1, expect.stringContaining(law)])
    expect(output).toMatch(seed)
  })
})

/** The laws under another test runner, and under none. */
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

describe("the laws of the stores", () => {
  it("run with node:test", async () => {
    const { output, status } = await node("--test", file("../laws.node.ts"))
    expect([status, output], output.slice(-2000)).toEqual([0, expect.stringMatching(/^# fail 0$|ℹ fail 0$/m)])
  })

  it("say what is wrong with node:test", async () => {
    const { output, status } = await node("--test", file("../brokenLaws.node.ts"))
    expect([status, output], output.slice(-2000)).toEqual([1, expect.stringMatching(/^# fail 1$|ℹ fail 1$/m)])
    expect(output).toContain("random programs: calls of subscriptions")
    expect(output).toMatch(/Run it again: STARTLIST_SEED=\d+/)
  })

  it("run without any test runner", async () => {
    const { output, status } = await node(file("../laws.script.ts"))
    expect([status, output]).toEqual([0, expect.stringMatching(/^(\d+) of \1 laws hold/m)])
  })

  it("say what is wrong without any test runner", async () => {
    const { output, status } = await node(file("../laws.script.ts"), "with a bug")
    expect([status, output]).toEqual([1, expect.stringContaining("random programs: calls of subscriptions")])
    expect(output).toMatch(/Run it again: STARTLIST_SEED=\d+/)
  })
})

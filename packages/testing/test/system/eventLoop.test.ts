import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const script = fileURLToPath(new URL("support/microtasks.ts", import.meta.url))

// A process of its own: one whose event loop does not turn cannot end itself.
it("the laws end in time, also over stores whose finds never let the event loop turn", async () => {
  const flags = ["--import", "tsx", "--conditions=@startlist/source"]
  const options = { timeout: 120_000, killSignal: "SIGKILL" } as const
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script], options)
  expect(JSON.parse(stdout)).toEqual([true, "Unended: a law: of a store that never answers: not ended after 0.05 s"])
})

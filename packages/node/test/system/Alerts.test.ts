/** Tests of the alert rules with promtool, if it is installed. */
import { describe, expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { isInstalled, runProgram } from "@startlist/test-support/RunProgram"

const folder = fileURLToPath(new URL("../../../../docs/operations", import.meta.url))

describe.skipIf(!isInstalled("promtool"))("alerts.yaml (skipped without promtool)", () => {
  for (
    const args of [["check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml"], [
      "test",
      "rules",
      "alerts.test.yaml"
    ]]
  ) {
    it(`promtool ${args.join(" ")}`, async () => {
      const { status, stderr, stdout } = await runProgram("promtool", args, { cwd: folder })
      expect(status, stdout + stderr).toBe(0)
    })
  }
})

it("every alert has a test in which it fires", () => {
  const read = (name: string) => readFileSync(`${folder}/${name}`, "utf8")
  const alerts = [...read("alerts.yaml").matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const fired = [...read("alerts.test.yaml").matchAll(/alertname(?:="|: )(\w+)/g)].map(([, name]) => name)
  expect([...new Set(fired)].sort()).toEqual([...alerts].sort())
})

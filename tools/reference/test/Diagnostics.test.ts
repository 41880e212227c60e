import { expect, it } from "@effect/vitest"
import { join } from "node:path"
import { runProgram } from "@startlist/test-support/RunProgram"
import { root } from "../src/Run.ts"

it("Effect's own compiler finds nothing: no effect that is not run, no error that no type shows", async () => {
  const compiler = join(root, "tools/reference/node_modules/.bin/effect-tsgo")
  const args = ["diagnostics", "--project", "tsconfig.json", "--format", "text"]
  const { status, stderr, stdout } = await runProgram(compiler, args, { cwd: root })
  // Findings leave the exit status at 0.
  const findings = stdout.split("\n").filter((line) => /\beffect\(\w+\): /.test(line))
  expect({ findings, status, stderr }).toEqual({ findings: [], status: 0, stderr: "" })
})

import { expect, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { root } from "../src/Run.ts"

it("Effect's own compiler finds nothing: no effect that is not run, no error that no type shows", () => {
  const compiler = join(root, "tools/reference/node_modules/.bin/effect-tsgo")
  const args = ["diagnostics", "--project", "tsconfig.json", "--format", "text"]
  const { error, status, stderr, stdout } = spawnSync(compiler, args, { cwd: root, encoding: "utf8" })
  // Findings leave the exit status at 0.
  const findings = stdout.split("\n").filter((line) => /\beffect\(\w+\): /.test(line))
  expect({ error, findings, status, stderr }).toEqual({ error: undefined, findings: [], status: 0, stderr: "" })
})

import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runProgram } from "@startlist/test-support/RunProgram"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const file = ".github/workflows/ci.yml"

it("the workflow is valid, and every script that it runs exists", async () => {
  const validator = join(root, "tools/reference/node_modules/.bin/action-validator")
  const { status, stderr, stdout } = await runProgram(validator, [file], { cwd: root })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" })

  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const commands = [...readFileSync(join(root, file), "utf8").matchAll(/- run: npm (?:run )?(\S+)/g)]
  const names = commands.map(([, name = ""]) => name).filter((name) => name !== "ci")
  expect(names).toEqual(["test", "test:system", "test:measured", "matrix", "reference:check"])
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names))
})

import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { outputOf } from "../../src/RunProgram.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** The time-out after the body of a test, or in the options of a group. */
const ownTimeOut = /[)}],\s*\d{2,3}_000\s*\)$|\b(?:layer|describe|it)\b[^\n]*\{ timeout: /m

const examples = ["}, 60_000)", "  }),\n  120_000\n)", "layer(site, { timeout: \"60 seconds\" })("]

it("no test has a time-out of its own, which a slow machine would exceed", async () => {
  expect(examples.filter((text) => !ownTimeOut.test(text))).toEqual([])
  const files = await outputOf("git", ["ls-files", "*.test.ts", "*.test.tsx"], { cwd: root })
  const others = files.trim().split("\n").filter((file) => !file.endsWith("/TimeOuts.test.ts"))
  expect(others.filter((file) => ownTimeOut.test(readFileSync(join(root, file), "utf8")))).toEqual([])
})

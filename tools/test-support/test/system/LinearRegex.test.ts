import { describe, expect, it } from "@effect/vitest"
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runProgram } from "../../src/RunProgram.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Lints one source file of a package with the settings of this repository. */
const lint = async (source: string) => {
  const folder = mkdtempSync(join(tmpdir(), "startlist-lint-"))
  try {
    mkdirSync(join(folder, "packages/planted/src"), { recursive: true })
    mkdirSync(join(folder, "tools"))
    for (const name of ["node_modules", "tools/test-support"]) symlinkSync(join(root, name), join(folder, name))
    copyFileSync(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"))
    writeFileSync(join(folder, "packages/planted/src/Planted.ts"), source)
    const oxlint = join(root, "node_modules/.bin/oxlint")
    return await runProgram(oxlint, ["packages/planted"], { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("lint", () => {
  it.each([
    ["export const basic = /^basic +([^ ]*) *$/i", "quadratic"],
    ["export const slashes = /\\/+$/", "quadratic"],
    ["export const nested = new RegExp(\"^(a+)+$\")", "exponential"]
  ])("refuses a regular expression that takes more than linear time: %s", async (source, time) => {
    const { status, stdout } = await lint(source)
    expect(stdout).toContain(`takes ${time} time`)
    expect(status).toBe(1)
  })

  it("accepts one that takes linear time", async () => {
    expect((await lint("export const bearer = /^bearer +([\\w.~+/-]+=*) *$/i")).status).toBe(0)
  })
})

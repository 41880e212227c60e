/** `docs/openapi.json` for the tools of others: a published linter, and two generators of clients. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { outputOf, runProgram } from "@startlist/test-support/RunProgram"
import { root } from "../src/Run.ts"

const bin = join(root, "tools/reference/node_modules/.bin")
const document = join(root, "docs/openapi.json")

it("a linter finds no error and no warning", async () => {
  const args = ["lint", "--config", join(root, "tools/reference/redocly.yaml"), "--format=json", document]
  const { stdout } = await runProgram(join(bin, "redocly"), args)
  const { problems } = JSON.parse(stdout.slice(stdout.indexOf("{")))
  expect(problems).toEqual([])
})

it("two generators make clients that compile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "startlist-clients-"))
  try {
    const run = (program: string, ...args: ReadonlyArray<string>) => outputOf(program, args, { cwd: folder })
    const place = ["--output", folder, "--name", "api.ts"]
    await run(join(bin, "swagger-typescript-api"), "generate", "--path", document, ...place)
    await run(join(bin, "openapi-ts"), "-i", document, "-o", "client", "-c", "@hey-api/client-fetch")
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
    const surroundings = ["--lib", "es2022,dom,dom.iterable", "--types", ""]
    await run(join(root, "node_modules/.bin/tsc"), ...options, ...surroundings, "api.ts", "client/index.ts")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

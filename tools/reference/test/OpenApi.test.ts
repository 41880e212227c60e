/** `docs/openapi.json` for the tools of others: a published linter, and two generators of clients. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { root } from "../src/Run.ts"

const bin = join(root, "tools/reference/node_modules/.bin")
const document = join(root, "docs/openapi.json")

it("a linter finds no error and no warning", () => {
  const args = ["lint", "--config", join(root, "tools/reference/redocly.yaml"), "--format=json", document]
  const { stdout } = spawnSync(join(bin, "redocly"), args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  const { problems } = JSON.parse(stdout.slice(stdout.indexOf("{")))
  expect(problems).toEqual([])
})

it("two generators make clients that compile", () => {
  const folder = mkdtempSync(join(tmpdir(), "startlist-clients-"))
  try {
    const run = (program: string, ...args: ReadonlyArray<string>) =>
      execFileSync(program, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] })
    run(join(bin, "swagger-typescript-api"), "generate", "--path", document, "--output", folder, "--name", "api.ts")
    run(join(bin, "openapi-ts"), "-i", document, "-o", "client", "-c", "@hey-api/client-fetch")
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
    const surroundings = ["--lib", "es2022,dom,dom.iterable", "--types", ""]
    run(join(root, "node_modules/.bin/tsc"), ...options, ...surroundings, "api.ts", "client/index.ts")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Modules that a process loads if it mounts a part of Startlist. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const hooks = fileURLToPath(new URL("loading/hooks.mjs", import.meta.url))

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "loading-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Number of loaded modules by package. */
const loadedBy = async (program: string): Promise<ReadonlyMap<string, number>> => {
  const file = join(folder, `${Math.random()}`)
  const flags = ["--import", "tsx", "--conditions=@startlist/source", "--import", hooks, "--input-type=module"]
  await promisify(execFile)(process.execPath, [...flags, "--eval", program], {
    cwd: join(root, "packages/embed"),
    env: { ...process.env, LOADED: file }
  })
  const counts = new Map<string, number>()
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const own = /\/packages\/([\w-]+)\/src\//.exec(line)?.[1]
    const name = own === undefined ? /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(line)?.[1] : `@startlist/${own}`
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const make = (endpoints: string) => `
  import * as Startlist from "@startlist/embed/Startlist"
  const startlist = await Startlist.make({
    url: "https://club.example/connect",
    findUser: () => undefined,
    authentication: { identify: () => undefined, signInUrl: () => "/", signOutUrl: "/" },
    endpoints: ${endpoints}
  })
  await startlist.close()
`

/** PostgreSQL and the embedded database. */
const ofDatabases = ["@startlist/postgres", "pg", "@electric-sql/pglite"]

const ofPages = ["@startlist/pages", "preact", "preact-render-to-string", "cookie"]

describe("a process that mounts", () => {
  it("the protocol, in memory, loads no page, no renderer and no database", async () => {
    for (
      const program of [
        `import "@startlist/http/Mount"; import "@startlist/http/Protocol"; import "@startlist/http/NodeHttp"`,
        make(`["oauth", "athlete", "webhooks"]`)
      ]
    ) {
      const loaded = await loadedBy(program)
      expect(loaded.get("@startlist/http")).toBeGreaterThan(20)
      expect([...ofPages, ...ofDatabases].filter((name) => loaded.has(name))).toEqual([])
    }
  })

  it("a page loads them", async () => {
    const loaded = await loadedBy(make(`["oauth", "consent"]`))
    expect(ofPages.filter((name) => loaded.has(name))).toEqual(ofPages)
  })
})

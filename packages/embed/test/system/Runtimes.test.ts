/**
 * The loop in other runtimes than Node. One bundle without modules of Node runs in Deno, Bun and an isolate of workerd;
 * the modules for Node run in compatible runtimes. The runtimes are downloaded as npm packages.
 */
import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import { type Runtime, start } from "./runtimes/Runtime.ts"

const onWeb: ReadonlyArray<Runtime> = [
  { name: "deno", entry: "deno", platform: "browser", args: ["run", "--allow-net", "deno.js"] },
  { name: "bun", entry: "bun", platform: "browser", args: ["bun.js"] },
  {
    name: "workerd",
    entry: "worker",
    platform: "browser",
    args: ["serve", "workerd.capnp", "--control-fd=3"],
    files: ["workerd.capnp"]
  }
]

const compatible: ReadonlyArray<Runtime> = [
  { name: "deno", entry: "listener", platform: "node", args: ["run", "--allow-all", "listener.js"] },
  { name: "bun", entry: "listener", platform: "node", args: ["listener.js"] }
]

/** The status of a request whose body never arrives. */
const statusWithoutBody = (url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, { method: "POST", headers }, (response) => {
      outgoing.destroy()
      resolve(response.statusCode)
    })
    outgoing.on("error", reject).flushHeaders()
  })

for (const runtime of onWeb) {
  Loop.suite(`the loop in ${runtime.name}, without Node`, EmbeddedServer.layer(() => start(runtime)))

  describe(`beside the loop, ${runtime.name}`, () => {
    let server: Awaited<ReturnType<typeof start>>
    beforeAll(async () => {
      server = await start(runtime)
    })
    afterAll(() => server.close())

    it("guards the server's own routes with the responses of Startlist", async () => {
      const [ours, theirs] = await Promise.all([
        fetch(`${server.origin}/results`),
        fetch(`${server.url}/api/v1/athlete`)
      ])
      expect(ours.status).toBe(401)
      // Each names the scope that the route needs.
      expect(ours.headers.get("www-authenticate")).toMatch(/^Bearer realm="startlist", scope="read"/)
      expect(theirs.headers.get("www-authenticate")).toMatch(/^Bearer realm="startlist", scope="profile:read"/)
      expect(await ours.json()).toEqual(await theirs.json())
    })

    it("compresses only once", async () => {
      const sheet = await fetch(`${server.url}/assets/pages.0.css`, { headers: { "accept-encoding": "gzip" } })
      expect([sheet.status, sheet.headers.get("content-encoding")]).toEqual([200, "gzip"])
      expect(await sheet.text()).toContain(":root")
    })

    it("refuses a request because of its head, before its body", async () => {
      const url = `${server.url}/oauth/token`
      const type = { "content-type": "application/x-www-form-urlencoded" }
      expect(await statusWithoutBody(url, { ...type, "content-length": "2000000" })).toBe(413)
      expect(await statusWithoutBody(url, { "content-type": "a/b, c/d", "content-length": "20" })).toBe(400)
    })
  })
}

for (const runtime of compatible) {
  Loop.suite(`the loop in ${runtime.name}, compatible with Node`, EmbeddedServer.layer(() => start(runtime)))
}

import { getRequestListener } from "@hono/node-server"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import * as Connect from "../src/Connect.ts"
import * as Server from "../src/Server.ts"
import * as Users from "../src/Users.ts"

const start = async (): Promise<EmbeddedServer.Embedding> => {
  const { close, origin, serve } = await EmbeddedServer.listen()
  const startlist = await Connect.start(origin, { callbacks: EmbeddedServer.onLoopback })
  serve(getRequestListener(Server.make(startlist).fetch))
  return {
    url: `${origin}/connect`,
    addUser: Users.add,
    startlist,
    close: async () => {
      await close()
      await startlist.close()
    }
  }
}

Loop.suite("the loop inside Hono", EmbeddedServer.layer(start))

describe("beside Startlist, the Hono server", () => {
  let server: EmbeddedServer.Embedding
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  const get = (path: string, headers: HeadersInit = {}) => fetch(new URL(path, server.url), { headers })

  it("has its own pages", async () => {
    expect(await (await get("/")).text()).toBe("The club's own page.\n")
    expect((await get("/nowhere")).status).toBe(404)
  })

  it("guards its own API with the answers of Startlist's", async () => {
    for (const headers of [{}, { authorization: "Bearer unknown" }]) {
      const [ours, theirs] = await Promise.all([get("/results", headers), get("/connect/api/v1/athlete", headers)])
      expect(ours.status).toBe(401)
      expect(ours.headers.get("www-authenticate")).toMatch(/^Bearer realm="startlist", .*scope="read"$/)
      expect(ours.headers.get("content-type")).toBe(theirs.headers.get("content-type"))
      expect(await ours.json()).toEqual(await theirs.json())
    }
  })

  it("does not read a form of any size", async () => {
    const body = new URLSearchParams({ email: "x".repeat(1_000_000), password: "", return_to: "/" })
    // The connection may end before the answer is read.
    const answered = fetch(new URL("/sign-in", server.url), { method: "POST", body })
    expect(await answered.then(({ status }) => status, () => 413)).toBe(413)
  })
})

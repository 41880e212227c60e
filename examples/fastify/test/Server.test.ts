import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import * as Connect from "../src/Connect.ts"
import * as Server from "../src/Server.ts"
import * as Users from "../src/Users.ts"

const start = async (): Promise<EmbeddedServer.Embedding> => {
  const { close, origin, serve } = await EmbeddedServer.listen()
  const startlist = await Connect.start(origin, { callbacks: EmbeddedServer.onLoopback })
  const app = Server.make(startlist)
  await app.ready()
  serve((request, response) => app.routing(request, response))
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

Loop.suite("the loop inside Fastify", EmbeddedServer.layer(start))

describe("beside Startlist, the Fastify server", () => {
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

  it("refuses a sign-in without a form", async () => {
    expect((await fetch(new URL("/sign-in", server.url), { method: "POST" })).status).toBe(403)
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
})

/** The application alone, before a platform that says nothing but where its endpoints are, and at first not even that. */
import { createServer, type Server } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../demo/FreePort.ts"
import * as ApplicationServer from "../src/Server.ts"
import * as Settings from "../src/Settings.ts"

describe("the sample application", () => {
  let server: Server
  let origin: string
  let isUp = false
  const platform = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`
    const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
    response.writeHead(isUp ? 200 : 503, { "content-type": "application/json" }).end(JSON.stringify(metadata))
  })

  const post = (path: string, from: string, fields: Readonly<Record<string, string>> = {}) =>
    fetch(`${origin}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: from },
      body: new URLSearchParams(fields)
    })

  const page = async (path = "/") => (await fetch(`${origin}${path}`)).text()

  beforeAll(async () => {
    const port = await freePort(0)
    await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve))
    const address = platform.address()
    const platformPort = typeof address === "object" && address !== null ? address.port : 0
    origin = `http://localhost:${port}`
    server = await ApplicationServer.start(Settings.read({
      PORT: String(port),
      STARTLIST_URL: `http://127.0.0.1:${platformPort}`,
      CLIENT_ID: "1",
      CLIENT_SECRET: "secret"
    }))
  })

  afterAll(() => {
    server.close()
    server.closeAllConnections()
    platform.close()
    platform.closeAllConnections()
  })

  it("says that the platform cannot be reached", async () => {
    expect((await post("/connect", origin, { role: "athlete" })).headers.get("location")).toBe("/#athlete")
    expect(await page()).toContain("The platform cannot be reached")
  })

  it("does nothing for a form of another site", async () => {
    expect((await post("/secret", "https://evil.example", { secret: "whsec_AAAA" })).status).toBe(403)
    expect(await page()).not.toContain("whsec_AAAA")
  })

  it("connects nobody with an answer that was begun in no browser", async () => {
    expect(await page("/callback?code=stolen&state=made-up")).toContain("belongs to no connection")
    expect(await page()).toContain("Connect as athlete")
  })

  it("escapes what comes from outside", async () => {
    isUp = true
    const begun = await post("/connect", origin, { role: "athlete" })
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? ""
    const cookie = (begun.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""
    const query = new URLSearchParams({ error: "server_error", error_description: "<script>alert(1)</script>", state })
    await fetch(`${origin}/callback?${query}`, { headers: { cookie }, redirect: "manual" })
    const html = await page()
    expect(html).toContain("server_error: &lt;script>alert(1)&lt;/script>")
    expect(html).not.toContain("<script>alert")
  })

  it("answers a challenge that it has not asked for with 403", async () => {
    const answer = await fetch(`${origin}/webhook?hub.mode=subscribe&hub.challenge=c&hub.verify_token=guess`)
    expect(answer.status).toBe(403)
  })
})

describe("the settings", () => {
  it("name what is missing", () => {
    expect(() => Settings.read({ STARTLIST_URL: "http://127.0.0.1:8080" })).toThrow("CLIENT_ID is not set")
  })
})

describe("a free port", () => {
  it("is the wanted one if nobody listens there, and else another one", async () => {
    const wanted = await freePort(0)
    expect(await freePort(wanted)).toBe(wanted)
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(wanted, "127.0.0.1", resolve))
    expect(await freePort(wanted)).not.toBe(wanted)
    taken.close()
  })
})

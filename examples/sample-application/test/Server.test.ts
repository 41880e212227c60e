/** Tests the application with a platform that always answers 503. */
import { createServer, type Server } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Ports from "@startlist/test-support/FreePort"
import { freePort } from "../demo/FreePort.ts"
import * as ApplicationServer from "../src/Server.ts"
import * as Settings from "../src/Settings.ts"
import * as Startlist from "../src/Startlist.ts"

describe("the sample application", () => {
  let server: Server
  let settings: Settings.Settings
  let origin: string
  const platform = createServer((_, response) => {
    response.writeHead(503).end()
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
    const port = await Ports.freePort()
    await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve))
    const address = platform.address()
    const platformPort = typeof address === "object" && address !== null ? address.port : 0
    origin = `http://localhost:${port}`
    settings = Settings.read({
      PORT: String(port),
      STARTLIST_URL: `http://127.0.0.1:${platformPort}`,
      CLIENT_ID: "1",
      CLIENT_SECRET: "secret",
      SIGNING_SECRET: "whsec_AAAA"
    })
    server = await ApplicationServer.start(settings)
  })

  afterAll(() => {
    server.close()
    server.closeAllConnections()
    platform.close()
    platform.closeAllConnections()
  })

  it("says which port is in use", async () => {
    await expect(ApplicationServer.start(settings)).rejects.toThrow(`port ${settings.port} is already in use`)
  })

  it("does nothing for a form of another site", async () => {
    expect((await post("/revoke", "https://evil.example", { role: "athlete" })).status).toBe(403)
  })

  it("connects nobody with an answer that was begun in no browser", async () => {
    expect(await page("/callback?code=stolen&state=made-up")).toContain("belongs to no connection")
    expect(await page()).toContain("Connect as athlete")
  })

  it("escapes what comes from outside", async () => {
    const begun = await post("/connect", origin, { role: "athlete" })
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? ""
    const cookie = (begun.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""
    const query = new URLSearchParams({ error: "server_error", error_description: "<script>alert(1)</script>", state })
    await fetch(`${origin}/callback?${query}`, { headers: { cookie }, redirect: "manual" })
    const html = await page()
    expect(html).toContain("server_error: &lt;script>alert(1)&lt;/script>")
    expect(html).not.toContain("<script>alert")
  })

  it("says that the platform cannot be reached, and connects nobody", async () => {
    const begun = await post("/connect", origin, { role: "athlete" })
    const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state") ?? ""
    const cookie = (begun.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""
    await fetch(`${origin}/callback?${new URLSearchParams({ code: "code", state })}`, { headers: { cookie } })
    expect(await page()).toContain("The platform cannot be reached")
  })

  it("answers a challenge that it has not asked for with 403", async () => {
    const answer = await fetch(`${origin}/webhook?hub.mode=subscribe&hub.challenge=c&hub.verify_token=guess`)
    expect(answer.status).toBe(403)
  })
})

describe("two windows that connect at the same time", () => {
  it("leave the connection that the platform has made last, and the other window learns of it", async () => {
    const release = new Map<string, () => void>()
    const platform = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      const fields = new URLSearchParams(body)
      const [token, code] = [fields.get("token"), Number(fields.get("code"))]
      if (token !== null) await new Promise<void>((resolve) => release.set(token, resolve))
      const tokens = { access_token: `${code}`, refresh_token: `${code}`, created_at: code, expires_in: 28_800 }
      response.end(JSON.stringify(token === null ? tokens : { active: true, sub: "7" }))
    })
    await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve))
    const address = platform.address()
    const startlist = Startlist.make(Settings.read({
      STARTLIST_URL: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
      CLIENT_ID: "1",
      CLIENT_SECRET: "secret",
      SIGNING_SECRET: "whsec_AAAA"
    }))
    const exchange = async (code: number) => {
      const { pending } = await startlist.authorize("platform")
      return startlist.exchange(new URL(`http://localhost/callback?code=${code}&state=${pending.keep.state}`), pending)
    }
    const [older, newer] = [exchange(1), exchange(2)]
    const refused = expect(older).rejects.toThrow("there is a newer one")
    await expect.poll(() => release.size).toBe(2)
    release.get("2")?.()
    expect((await newer).accessToken).toBe("2")
    release.get("1")?.()
    await refused
    platform.close()
    platform.closeAllConnections()
  })
})

describe("the settings", () => {
  it("name what is missing", () => {
    expect(() => Settings.read({ STARTLIST_URL: "http://127.0.0.1:8080" })).toThrow("CLIENT_ID is not set")
  })
})

describe("a free port", () => {
  it("is the wanted one if nobody listens there, and else another one", async () => {
    const wanted = await Ports.freePort()
    expect(await freePort(wanted)).toBe(wanted)
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(wanted, "127.0.0.1", resolve))
    expect(await freePort(wanted)).not.toBe(wanted)
    taken.close()
  })
})

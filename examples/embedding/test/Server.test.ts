import { Applications } from "@startlist/core"
import { Effect, Redacted } from "effect"
import type { Server } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as EmbeddingServer from "../src/Server.ts"
import * as Startlist from "../src/Startlist.ts"
import * as Users from "../src/Users.ts"

describe("Startlist inside a server that has its own users", () => {
  let server: Server
  let origin: string

  const registerApplication = () =>
    Startlist.runtime.runPromise(Effect.gen(function*() {
      const applications = yield* Applications.Applications
      const owner = Users.find(7)
      if (owner === undefined) throw new Error("the platform user is gone")
      const settings = { name: "Race Planner", redirectUris: ["https://planner.example/back"], requirePkce: false }
      const { application, secret } = yield* applications.create(owner.id, settings)
      return { client_id: String(application.id), client_secret: Redacted.value(secret) }
    }))

  const get = (path: string, headers: HeadersInit = {}) => fetch(`${origin}${path}`, { redirect: "manual", headers })

  const post = (path: string, form: Readonly<Record<string, string>>, headers: HeadersInit = {}) =>
    fetch(`${origin}${path}`, { method: "POST", redirect: "manual", headers, body: new URLSearchParams(form) })

  const location = (response: Response) => response.headers.get("location") ?? ""

  /** The hidden fields of the form of the consent page. */
  const hiddenFields = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
        .map(([, name = "", value = ""]) => [name, value.replaceAll("&amp;", "&")])
    )

  beforeAll(async () => {
    server = await EmbeddingServer.start(0)
    const address = server.address()
    origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  })

  afterAll(() =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  )

  it("serves its own page beside Startlist's", async () => {
    expect(await (await get("/")).text()).toBe("The club's own page.\n")
    const metadata = await get("/.well-known/oauth-authorization-server")
    expect(await metadata.json()).toMatchObject({ code_challenge_methods_supported: ["S256"] })
    expect((await get("/nowhere")).status).toBe(404)
  })

  it("does not read a form of any size", async () => {
    await expect(post("/sign-out", { csrf: "x".repeat(1_000_000) })).rejects.toThrow()
  })

  it("sends a visitor to its own sign-in, and its user consents: the application reads who that is", async () => {
    const client = await registerApplication()
    const redirect_uri = "https://planner.example/back"
    const wanted = {
      client_id: client.client_id,
      redirect_uri,
      response_type: "code",
      scope: "profile:read",
      state: "s"
    }
    const toSignIn = location(await get(`/oauth/authorize?${new URLSearchParams(wanted)}`))
    expect(toSignIn).toMatch(/^\/sign-in\?return_to=%2Foauth%2Fauthorize/)

    const signedIn = await get(`${toSignIn}&email=alice@club.example`)
    const cookie = (signedIn.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""
    const consent = await (await get(location(signedIn), { cookie })).text()
    const allowed = await post("/oauth/authorize", { ...hiddenFields(consent), decision: "allow" }, { cookie })
    const back = new URL(location(allowed))
    expect(`${back.origin}${back.pathname}`).toBe(redirect_uri)
    expect(back.searchParams.get("state")).toBe("s")

    const code = back.searchParams.get("code") ?? ""
    const answer = await post("/oauth/token", { ...client, grant_type: "authorization_code", code, redirect_uri })
    const { access_token } = await answer.json()
    const athlete = await get("/api/v1/athlete", { authorization: `Bearer ${access_token}` })
    expect(await athlete.json()).toEqual({ id: 8, first_name: "Alice", last_name: "M" })
  })

  it("signs in and out on its own pages, and leads nobody elsewhere", async () => {
    const signedIn = await get("/sign-in?email=alice@club.example&return_to=//elsewhere.example/")
    expect(location(signedIn)).toBe("/")
    const cookie = (signedIn.headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""
    const fields = hiddenFields(await (await get("/account/applications", { cookie })).text())
    const stranger = { ...fields, csrf: "another", return_to: "https://elsewhere.example/" }
    expect(location(await post("/sign-out", stranger, { cookie }))).toBe("/")
    expect((await get("/account/applications", { cookie })).status).toBe(200)
    expect(location(await post("/sign-out", fields, { cookie }))).toBe("/account/applications")
    expect((await get("/account/applications", { cookie })).status).toBe(303)
  })

  it("shows its signed-in user the authorised applications", async () => {
    const cookie = (Users.signIn("alice@club.example") ?? "").split(";")[0] ?? ""
    const page = await get("/account/applications", { cookie })
    expect(page.status).toBe(200)
    expect(await page.text()).toContain("Race Planner")
  })
})

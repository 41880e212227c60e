import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Startlist } from "@startlist/embed"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import * as Connect from "../src/Connect.ts"
import * as Server from "../src/Server.ts"
import * as Users from "../src/Users.ts"

const start = async (options: Partial<Startlist.Options> = {}) => {
  const { close, origin, serve } = await EmbeddedServer.listen()
  const startlist = await Connect.start(origin, { callbacks: EmbeddedServer.onLoopback, ...options })
  serve(Server.make(startlist))
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

Loop.suite("the loop inside Express", EmbeddedServer.layer(() => start()))

describe("beside Startlist, the Express server", () => {
  let server: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  const get = (path: string, headers: HeadersInit = {}) => fetch(new URL(path, server.url), { headers })

  it("has its own pages", async () => {
    expect(await (await get("/")).text()).toBe("The club's own page.\n")
    expect((await get("/nowhere")).status).toBe(404)
  })

  const addUser = (role: Startlist.User["role"], email: string) => {
    const person = { role, email, firstName: "Ada" }
    return { ...person, id: Users.add(person, "ada") }
  }

  const leave = (cookie: string, csrf = Users.signedIn(cookie)?.csrf ?? "") =>
    fetch(new URL("/leave", server.url), { method: "POST", headers: { cookie }, body: new URLSearchParams({ csrf }) })

  /** An application that this user has connected, and the query of its request. */
  const connected = async (user: Startlist.User) => {
    const { applications, consents } = server.startlist
    const owner = addUser("platform", `owner-${user.id}@club.example`)
    const created = await applications.create(owner.id, { name: "Race Day", redirectUris: [] })
    if (!created.ok) throw new Error(created.message)
    const query = String(
      new URLSearchParams({
        response_type: "code",
        client_id: String(created.application.id),
        redirect_uri: "http://localhost/",
        scope: "profile:read read"
      })
    )
    expect((await consents.allow(query, user)).ok).toBe(true)
    return query
  }

  it("has a page with the applications that its user has connected", async () => {
    expect((await fetch(new URL("/connections", server.url), { redirect: "manual" })).status).toBe(303)
    await connected(addUser("platform", "ada@club.example"))
    const page = await get("/connections", { cookie: Users.signIn("ada@club.example", "ada") ?? "" })
    expect(await page.text()).toBe("Your connected applications:\nRace Day: profile:read, read\n")
  })

  it("erases a person who leaves, also from Startlist, which refuses a consent that comes later", async () => {
    const user = addUser("athlete", "lea@club.example")
    const query = await connected(user)
    const { consents, personalData, registrations } = server.startlist
    const created = await registrations.create({ athleteId: user.id }, { comment: "Lea has a cold" })
    if (!created.ok) throw new Error(created.message)
    const cookie = Users.signIn("lea@club.example", "ada") ?? ""
    expect((await leave(cookie, "guessed")).status).toBe(403)
    expect(await personalData.export(user.id)).toMatchObject({
      grants: [{ application: { name: "Race Day" } }],
      registrations: [{ updates: { comment: "Lea has a cold" } }]
    })
    expect((await leave(cookie)).status).toBe(200)
    expect(Users.find(user.id)).toBeUndefined()
    const { grants, registrations: [registration] } = await personalData.export(user.id)
    expect([grants, registration?.updates.comment]).toEqual([[], ""])
    // A consent page that was open in another window.
    const late = await consents.allow(query, user)
    expect(late).toMatchObject({ ok: true, redirect: expect.stringContaining("error=access_denied") })
    expect((await personalData.export(user.id)).grants).toEqual([])
  })

  it("does not let the owner of an application leave, because nothing would be erased", async () => {
    const { applications } = server.startlist
    const owner = addUser("platform", "olga@club.example")
    const created = await applications.create(owner.id, { name: "Race Day", redirectUris: [] })
    const cookie = Users.signIn(owner.email, "ada") ?? ""
    const refused = await leave(cookie)
    expect([refused.status, await refused.text()]).toEqual([409, "First delete your applications.\n"])
    expect(Users.find(owner.id)).toMatchObject({ email: owner.email })
    if (created.ok) await applications.end(created.application.id)
    expect((await leave(cookie)).status).toBe(200)
  })

  it("can have an error page of its own in place of Startlist's", async () => {
    const failure = ({ status }: { readonly status: number }) =>
      `<!doctype html><html lang="en"><title>Club</title><p>Error ${status}</p></html>`
    const own = await start({ templates: { failure } })
    const page = await fetch(new URL("/connect/nowhere", own.url), { headers: { accept: "text/html" } })
    expect(await page.text()).toContain("<title>Club</title><p>Error 404</p>")
    await own.close()
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

/** The promise-based API: plain values, and nothing of Effect. */
import { Grant, Memory } from "@startlist/core"
import { Startlist } from "@startlist/embed"
import * as Layered from "@startlist/embed/Layered"
import { NodeSecrets } from "@startlist/http"
import { ScriptedCallbacks } from "@startlist/testing"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { afterEach, describe, expect, expectTypeOf, it, vi } from "vitest"
import { send } from "../../http/test/support/BindingLaws.ts"
import { formsOf, urlencoded } from "../../pages/test/support/Browser.ts"
import { listen } from "../../http/test/support/listen.ts"

const users: ReadonlyArray<Startlist.User> = [
  { id: 7, role: "platform", email: "paul@club.example" },
  { id: 8, role: "athlete", email: "alice@club.example", firstName: "Alice" }
]

const fail = () => {
  throw new Error("not changed")
}

const open: Array<Startlist.Startlist> = []

const defaults: Startlist.Options = {
  url: "https://club.example/connect",
  findUser: (id) => users.find((user) => user.id === id),
  authentication: {
    identify: async ({ headers }) => {
      const user = users.find(({ email }) => email === headers["x-user"])
      return user === undefined ? undefined : { user, csrf: `csrf of ${user.id}` }
    },
    signInUrl: (returnTo) => `/sign-in?${new URLSearchParams({ returnTo })}`,
    signOutUrl: "/sign-out"
  }
}

const parts: Layered.Parts = {
  stores: Memory.layer,
  callbacks: ScriptedCallbacks.layer,
  secrets: NodeSecrets.layerDrawn
}

const start = async (options: Partial<Startlist.Options> = {}) => {
  const startlist = await Layered.make({ ...defaults, ...options }, parts)
  open.push(startlist)
  return startlist
}

afterEach(async () => {
  for (const startlist of open.splice(0)) await startlist.close()
})

const register = async ({ applications }: Startlist.Startlist) => {
  const created = await applications.create(7, { name: "Race Planner", redirectUris: ["https://app.test/back"] })
  if (!created.ok) throw new Error(created.message)
  return { id: created.application.id, secret: created.secret }
}

/** The user consents on the page, and the application gets its tokens. */
const connect = async (
  { handler }: Startlist.Startlist,
  client: { readonly id: number; readonly secret: string },
  email: string
): Promise<string> => {
  const ask = (path: string, init: RequestInit = {}) =>
    handler(new Request(`https://club.example${path}`, { ...init, headers: { "x-user": email } }))
  const query = { redirect_uri: "https://app.test/back", response_type: "code", scope: "read" }
  const page = await ask(`/connect/oauth/authorize?${urlencoded({ ...query, client_id: String(client.id) })}`)
  const form = formsOf({ status: 200, headers: {}, body: await page.text() })
    .find(({ action }) => action === "/connect/oauth/authorize")
  const fields = new URLSearchParams({ ...form?.hidden, decision: "allow" })
  const back = new URL(
    (await ask("/connect/oauth/authorize", { method: "POST", body: fields })).headers.get("location") ?? ""
  )
  const exchange = new URLSearchParams({
    client_id: String(client.id),
    client_secret: client.secret,
    grant_type: "authorization_code",
    code: back.searchParams.get("code") ?? ""
  })
  return (await (await ask("/connect/oauth/token", { method: "POST", body: exchange })).json()).access_token
}

/** An application with a subscription, and an athlete who has authorised it. */
const subscribed = async (startlist: Startlist.Startlist) => {
  const client = await register(startlist)
  await connect(startlist, client, "alice@club.example")
  const token = await connect(startlist, client, "paul@club.example")
  const wanted = { callback_url: "https://app.test/events", verify_token: "v" }
  const created = await startlist.handler(
    new Request("https://club.example/connect/api/v1/webhook_subscription", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ webhook_subscription: wanted })
    })
  )
  expect(created.status).toBe(201)
  return client
}

describe("Startlist.make", () => {
  it("serves, checks tokens and lets a user revoke a grant", async () => {
    const startlist = await start()
    const client = await register(startlist)
    const token = await connect(startlist, client, "alice@club.example")

    const checked = await startlist.check(`Bearer ${token}`, { scopes: ["read"], roles: ["athlete"] })
    expect(checked).toEqual({
      ok: true,
      access: {
        applicationId: client.id,
        userId: 8,
        role: "athlete",
        scope: ["read"],
        createdAt: expect.any(Date),
        expiresAt: expect.any(Date)
      }
    })
    const refused = await startlist.check(`Bearer ${token}`, { scopes: ["write"] })
    expect(refused).toMatchObject({ ok: false, answer: { status: 403 } })
    expect(await startlist.check(undefined)).toMatchObject({ ok: false, answer: { status: 401 } })

    expect(await startlist.grants.list(8)).toMatchObject([
      { application: { name: "Race Planner" }, scope: ["read"], liveScope: ["read"] }
    ])
    expect(await startlist.grants.revoke(client.id, 8)).toEqual({ ok: true })
    expect(await startlist.check(`Bearer ${token}`)).toMatchObject({ ok: false, answer: { status: 401 } })
    expect(await startlist.grants.revoke(99, 8)).toEqual({ ok: false, reason: "not_found" })
  })

  it("ends an application, or gives it another owner, so that its owner can be erased", async () => {
    const findUser = (id: number): Startlist.User => ({ id, role: id === 8 ? "athlete" : "platform", email: "a@club" })
    const startlist = await start({ findUser })
    const { applications, personalData } = startlist
    const [first, second] = [await register(startlist), await register(startlist)]
    expect(await personalData.erase(7)).toEqual({ ok: false, reason: "owns_applications" })
    for (const ownerId of [8, 0]) {
      const refused = { ok: false, reason: "invalid", field: "owner_id" }
      expect(await applications.change(first.id, { ownerId })).toMatchObject(refused)
    }
    const changed = await applications.change(first.id, { ownerId: 9, name: "Race Day" })
    expect(changed).toMatchObject({ ok: true, application: { ownerId: 9, name: "Race Day" } })
    const token = await connect(startlist, second, "alice@club.example")
    expect(await applications.end(second.id)).toEqual({ ok: true })
    expect(await startlist.check(`Bearer ${token}`)).toMatchObject({ ok: false, answer: { status: 401 } })
    expect(await applications.end(second.id)).toEqual({ ok: false, reason: "not_found" })
    expect(await applications.end(0)).toEqual({ ok: false, reason: "not_found" })
    expect(await personalData.erase(7)).toMatchObject({ ok: true })
    expect(await applications.list()).toMatchObject([{ id: first.id }])
  })

  it("refuses requests over its capacity with Retry-After", async () => {
    const { listener } = await start({ limits: { capacity: 0 } })
    const asked = Effect.flatMap(listen(listener), (port) => send(port, "/connect/api/v1/athlete"))
    const { headers, status } = await Effect.runPromise(Effect.scoped(asked))
    expect([status, headers["retry-after"]]).toEqual([503, "1"])
  })

  it("interrupts requests that exceed their time limit", async () => {
    const { handler } = await start({
      limits: { timeout: "20 millis" },
      authentication: { identify: () => new Promise(() => {}), signInUrl: fail, signOutUrl: "/sign-out" }
    })
    const { status } = await handler(new Request("https://club.example/connect/account/applications"))
    expect(status).toBe(503)
  })

  it("completes requests and calls in progress before it closes, and accepts no others", async () => {
    let answer = (_: undefined): void => {}
    const users = new Promise<undefined>((resolve) => {
      answer = resolve
    })
    const asked = vi.fn(() => users)
    const startlist = await start({
      findUser: () => asked(),
      authentication: { identify: () => asked(), signInUrl: () => "/sign-in", signOutUrl: "/sign-out" }
    })
    const page = () => startlist.handler(new Request("https://club.example/connect/account/applications"))
    const [request, call] = [page(), startlist.applications.create(7, { name: "Race", redirectUris: [] })]
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(2))
    const ended: Array<string> = []
    // Two signals, such as SIGINT and SIGTERM.
    const closed = Promise.all([startlist.close(), startlist.close()]).then(() => ended.push("close"))
    expect((await page()).status).toBe(503)
    await expect(startlist.grants.list(7)).rejects.toThrow("Startlist is closed")
    void request.then(() => ended.push("request"))
    answer(undefined)
    await closed
    expect(ended).toEqual(["request", "close"])
    expect([(await request).status, await call]).toEqual([303, expect.objectContaining({ field: "owner_id" })])
  })

  it("completes checks of the server's own routes before it closes, and answers later ones with 503", async () => {
    let asked = 0
    let answered = Promise.resolve()
    let answer = (): void => {}
    const slow = Layer.map(Memory.layer, (stores) => {
      const grants = Context.get(stores, Grant.GrantStore)
      return Context.add(stores, Grant.GrantStore, {
        ...grants,
        find: (...given) => {
          asked++
          return Effect.zipRight(Effect.promise(() => answered), grants.find(...given))
        }
      })
    })
    const startlist = await Layered.make(defaults, { ...parts, stores: slow })
    const token = await connect(startlist, await register(startlist), "alice@club.example")
    asked = 0
    answered = new Promise((resolve) => {
      answer = resolve
    })
    const route = startlist.guardHandler({ scopes: ["read"] }, (_, { userId }) => Response.json(userId))
    const listener = startlist.guardListener({}, (_, response) => void response.end("8"))
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const port = yield* listen((request, response) => void listener(request, response))
      const headers = { authorization: `Bearer ${token}` }
      const ask = () => [
        route(new Request("https://club.example/results", { headers })),
        fetch(`http://127.0.0.1:${port}/results`, { headers })
      ]
      const before = ask()
      yield* Effect.promise(() => vi.waitFor(() => expect(asked).toBe(2)))
      let isClosed = false
      const closed = startlist.close().then(() => {
        isClosed = true
      })
      const after = yield* Effect.promise(() => Promise.all(ask()))
      expect(after.map(({ status }) => status)).toEqual([503, 503])
      expect(isClosed).toBe(false)
      answer()
      yield* Effect.promise(() => closed)
      const texts = before.map(async (response) => (await response).text())
      expect(yield* Effect.promise(() => Promise.all(texts))).toEqual(["8", "8"])
    })))
  })

  it("closes while a function of the server never answers, after the time limit", async () => {
    const startlist = await start({ limits: { timeout: "20 millis" }, findUser: () => new Promise(() => {}) })
    void startlist.applications.create(7, { name: "Race", redirectUris: [] }).catch(() => {})
    await startlist.close()
  })

  it("an application has the given links; an empty one is removed, the others stay", async () => {
    const startlist = await start()
    const { id } = await register(startlist)
    const { change, find } = startlist.applications
    const [website, logo] = ["https://app.test", "https://app.test/logo.png"]
    await change(id, { links: { website, logo } })
    expect(await change(id, { links: { website: "http://app.test" } })).toMatchObject({ ok: false, field: "website" })
    expect(await find(id)).toMatchObject({ links: { website, logo } })
    await change(id, { links: { website: "" } })
    expect((await find(id))?.links).toEqual({ logo })
  })

  it("returns typed refusals without throwing", async () => {
    const { applications, registrations } = await start()
    const refused = await applications.create(8, { name: "", redirectUris: [] })
    expect(refused).toEqual({ ok: false, reason: "invalid", field: "name", message: expect.any(String) })
    if (!refused.ok) expectTypeOf(refused.reason).toEqualTypeOf<"invalid">()
    expect(await applications.create(-1, { name: "x", redirectUris: [] })).toMatchObject({ field: "owner_id" })
    expect(await applications.rotateSecret(1.5)).toEqual({ ok: false, reason: "not_found" })
    expect(await registrations.create({ athleteId: 7 })).toMatchObject({ ok: false, field: "athlete_id" })
    expect(await registrations.create({ athleteId: 8, clubId: 0 })).toMatchObject({ ok: false, field: "club_id" })
    expect(await registrations.change(1, {})).toEqual({ ok: false, reason: "not_found" })
    expect(await registrations.find(1)).toBeUndefined()
  })

  it("changes a registration, and saves a delivery of its event", async () => {
    const startlist = await start({ worker: false })
    const client = await subscribed(startlist)
    expect(await startlist.subscriptions.find(client.id)).toMatchObject({ callbackUrl: "https://app.test/events" })

    const registered = await startlist.registrations.create({ athleteId: 8 }, { registration_status: "new" })
    if (!registered.ok) throw new Error(registered.message)
    const changed = await startlist.registrations.change(registered.registration.id, { registration_status: "valid" })
    expect(changed).toMatchObject({ ok: true, registration: { updates: { registration_status: "valid" } } })
    const own = await startlist.events.registrationChanged({
      id: 123_456_789,
      parties: { athleteId: 8 },
      sequence: 7,
      updates: { ...changed.ok ? changed.registration.updates : fail(), platform_id: "P-1" }
    })
    expect(own).toEqual({ ok: true, eventId: expect.stringMatching(/^evt_/) })
    expect(await startlist.deliveries.list({ applicationId: client.id })).toMatchObject([
      { objectType: "registration", objectId: 123_456_789, state: "pending", eventId: own.ok && own.eventId },
      { objectType: "registration", objectId: registered.registration.id, state: "pending", attempts: [] }
    ])
  })

  it("refuses what no store can save, with the name of its field", async () => {
    const { events, registrations } = await start({ worker: false })
    const wrong = (field: string) => ({ ok: false, reason: "invalid", field, message: expect.any(String) })
    expect(await registrations.create({ athleteId: 8 }, { comment: "a\0b" })).toEqual(wrong("comment"))
    const created = await registrations.create({ athleteId: 8 })
    if (!created.ok) throw new Error(created.message)
    const { registration } = created
    expect(await registrations.change(registration.id, { reasons: ["\ud800"] })).toEqual(wrong("reasons"))
    expect(await registrations.find(registration.id)).toEqual(registration)
    const own = { ...registration, updates: { ...registration.updates, platform_id: "\0" } }
    expect(await events.registrationChanged(own)).toEqual(wrong("platform_id"))
    for (const sequence of [-1, 0.5, 2 ** 53]) {
      expect(await events.registrationChanged({ ...registration, sequence })).toEqual(wrong("sequence"))
    }
  })

  it("finds nothing by a number that is not an identifier", async () => {
    const startlist = await start()
    await register(startlist)
    const { applications, deliveries } = startlist
    expect(await applications.list({ ownerId: 7 })).toHaveLength(1)
    expect(await applications.list({ ownerId: 0 })).toEqual([])
    expect(await applications.list({ after: 1.5 })).toEqual([])
    expect(await deliveries.list({ applicationId: -1 })).toEqual([])
    expect(await deliveries.list({ after: Number.NaN })).toEqual([])
  })

  it("ignores a slash at the end of its URL", async () => {
    const { handler } = await start({ url: "https://club.example/connect/" })
    const path = "/.well-known/oauth-authorization-server/connect"
    const metadata = await (await handler(new Request(`https://club.example${path}`))).json()
    expect(metadata.token_endpoint).toBe("https://club.example/connect/oauth/token")
    const resource = await handler(new Request("https://club.example/.well-known/oauth-protected-resource/connect"))
    expect(await resource.json()).toMatchObject({ resource: "https://club.example/connect" })
    expect((await handler(new Request("https://club.example/connect/oauth/token"))).status).toBe(405)
  })

  it("removes deliveries after their retention, unless that is turned off", async () => {
    vi.useFakeTimers()
    try {
      const policy = { deliveryRetention: "1 hour" } as const
      const parties = { athleteId: 8 }
      for (const retention of [true, false]) {
        const startlist = await start({ policy, retention })
        await subscribed(startlist)
        const registered = await startlist.registrations.create(parties)
        if (!registered.ok) throw new Error(registered.message)
        await startlist.registrations.change(registered.registration.id, { comment: "changed" })
        await vi.advanceTimersByTimeAsync(59 * 60_000)
        expect(await startlist.deliveries.list()).toMatchObject([{ state: "delivered" }])
        await vi.advanceTimersByTimeAsync(20 * 60_000)
        expect(await startlist.deliveries.list()).toHaveLength(retention ? 0 : 1)
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it("imports lines and objects of a former server, whose clients go on with their tokens", async () => {
    const startlist = await start()
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
    const created_at = new Date("2026-01-01")
    const expires_at = "2100-01-01T00:00:00Z"
    const records = [
      {
        kind: "application",
        client_id: 700,
        name: "Race Day",
        owner_id: 7,
        redirect_uris: ["https://app.test/back"],
        secret_hash: sha256("former secret"),
        created_at
      },
      JSON.stringify({
        kind: "grant",
        client_id: 700,
        user_id: 8,
        scope: "read",
        granted_at: created_at,
        access_tokens: [{ hash: sha256("former_token"), created_at, expires_at }]
      }),
      { kind: "user", id: 9, role: "athlete", email: "eve@club.example" },
      "{",
      { kind: "registration", id: 1, athlete_id: 99 }
    ]
    const stream = async function*() {
      yield* records
    }
    const none = { added: 0, updated: 0, unchanged: 0, refused: 0 }
    const report = {
      counts: {
        application: { ...none, added: 1 },
        registration: { ...none, refused: 1 },
        subscription: none,
        grant: { ...none, added: 1 }
      },
      refused: [
        { line: 3, message: "kind: users are not imported here, because the embedding server has its own" },
        { line: 4, message: "it is not a JSON object" },
        { line: 5, message: "athlete_id: there is no user 99" }
      ]
    }
    expect(await startlist.import(records, { dryRun: true })).toEqual(report)
    expect(await startlist.applications.find(700)).toBeUndefined()
    expect(await startlist.import(stream())).toEqual(report)
    expect(await startlist.check("Bearer former_token")).toMatchObject({ access: { applicationId: 700, userId: 8 } })
    expect(await startlist.import(records)).toMatchObject({
      counts: { application: { added: 0, unchanged: 1 }, grant: { added: 0, unchanged: 1 } }
    })
    await expect(startlist.import("{}")).rejects.toThrow("must be lines")
  })

  it("checks imported secrets of a former server once, with the server's function", async () => {
    const checked: Array<string> = []
    const startlist = await start({
      importedSecrets: {
        accepts: (hash) => hash.startsWith("$reversed$"),
        matches: (hash, secret) => {
          checked.push(secret)
          return hash === `$reversed$${[...secret].reverse().join("")}`
        }
      }
    })
    const record = { kind: "application", owner_id: 7, created_at: "2026-01-01T00:00:00Z" }
    const applications = [
      {
        ...record,
        client_id: 700,
        name: "Race Day",
        redirect_uris: ["https://app.test/back"],
        secret_hash: "$reversed$terces"
      },
      {
        ...record,
        client_id: 701,
        name: "Race Week",
        redirect_uris: ["https://app.test/back"],
        secret_hash: "$other$terces"
      }
    ]
    const { refused } = await startlist.import(applications)
    expect(refused).toMatchObject([{ line: 2, message: expect.stringContaining("secret_hash") }])
    await connect(startlist, { id: 700, secret: "secret" }, "alice@club.example")
    await connect(startlist, { id: 700, secret: "secret" }, "alice@club.example")
    expect(checked).toEqual(["secret"])
  })

  it("needs `authentication` only with pages", async () => {
    const { authentication: _, ...options } = defaults
    await (await Startlist.make({ ...options, endpoints: ["oauth", "athlete", "webhooks"] })).close()
    await expect(Startlist.make({ ...options, endpoints: ["oauth", "consent"] })).rejects.toThrow(
      "authentication is missing"
    )
  })

  it("supports a server's own consent page", async () => {
    const startlist = await start({ endpoints: ["oauth", "athlete"] })
    const client = await register(startlist)
    const queryOf = (changes: Record<string, string> = {}) =>
      urlencoded({
        client_id: String(client.id),
        redirect_uri: "https://app.test/back",
        response_type: "code",
        scope: "read",
        state: "opaque",
        ...changes
      })
    const [, alice] = users
    if (alice === undefined) return expect.fail()
    const { allow, check, deny } = startlist.consents
    expect(await check(`?${queryOf({ role: "athlete" })}`)).toMatchObject({
      ok: true,
      application: { id: client.id, name: "Race Planner" },
      scope: ["read"],
      role: "athlete"
    })

    const allowed = await allow(queryOf(), alice)
    if (!("redirect" in allowed)) return expect.fail()
    const back = new URL(allowed.redirect)
    expect([allowed.ok, back.origin, back.searchParams.get("state")]).toEqual([true, "https://app.test", "opaque"])
    const exchange = new URLSearchParams({
      client_id: String(client.id),
      client_secret: client.secret,
      grant_type: "authorization_code",
      code: back.searchParams.get("code") ?? ""
    })
    const request = new Request("https://club.example/connect/oauth/token", { method: "POST", body: exchange })
    expect((await startlist.handler(request)).status).toBe(200)

    const denied = await deny(queryOf(), alice)
    expect(denied).toMatchObject({ ok: true, redirect: expect.stringContaining("error=access_denied") })
    expect(await allow(queryOf({ role: "club" }), alice)).toEqual({ ok: false, reason: "wrong_role" })
    const refused = await check(queryOf({ scope: "everything" }))
    expect(refused).toMatchObject({ ok: false, redirect: expect.stringContaining("error=invalid_scope") })
    expect(await check(queryOf({ client_id: "999" }))).toEqual({ ok: false, reason: "unknown_client" })
    expect(await check("client_id=%zz")).toEqual({ ok: false, reason: "malformed" })
  })

  it("mounts only the selected endpoints", async () => {
    const { handler } = await start({ endpoints: ["webhooks"] })
    const status = async (path: string) => (await handler(new Request(`https://club.example/connect${path}`))).status
    expect([await status("/api/v1/webhook_subscription"), await status("/oauth/token")]).toEqual([401, 404])
  })

  it("pages are unavailable while the server cannot identify its users", async () => {
    const { handler } = await start({
      log: () => {},
      authentication: {
        identify: () => Promise.reject(new Error("the session store is away")),
        signInUrl: () => "/",
        signOutUrl: "/"
      }
    })
    const answer = await handler(new Request("https://club.example/connect/account/applications"))
    expect(answer.status).toBe(503)
    expect(await answer.text()).not.toContain("session store")
  })

  it("rejects if the stores cannot be opened", async () => {
    const stores = Layer.fail("no such database").pipe(Layer.provideMerge(Memory.layer))
    await expect(Layered.make(defaults, { ...parts, stores })).rejects.toThrow("no such database")
  })

  it("shows the server's own pages with plain values", async () => {
    const shown: Array<unknown> = []
    const page = (name: string) => (content: unknown) => {
      shown.push([name, content])
      return `<!doctype html><title>${name}</title>`
    }
    const startlist = await start({
      templates: {
        consent: page("consent"),
        wrongRole: page("wrongRole"),
        applications: page("applications"),
        failure: page("failure")
      }
    })
    const client = await register(startlist)
    const query = new URLSearchParams({
      response_type: "code",
      client_id: String(client.id),
      redirect_uri: "https://app.test/back",
      scope: "read"
    })
    const open = (path: string) =>
      startlist.handler(
        new Request(`https://club.example/connect${path}`, { headers: { "x-user": "alice@club.example" } })
      )
    await startlist.consents.allow(String(query), { id: 8, role: "athlete", email: "alice@club.example" })
    await open(`/oauth/authorize?${query}`)
    await open(`/oauth/authorize?${query}&role=organizer`)
    await open("/account/applications")
    await open("/nowhere")
    const signedIn = {
      csrf: "csrf of 8",
      user: { id: 8, role: "athlete", email: "alice@club.example", firstName: "Alice", lastName: "" }
    }
    const frame = expect.objectContaining({ base: "/connect", locale: "en", signedIn })
    const application = expect.objectContaining({ id: client.id, createdAt: expect.any(Date) })
    expect(shown).toEqual([
      ["consent", expect.objectContaining({ frame, application, scope: ["read"], signedIn, isAllowedBefore: true })],
      ["wrongRole", expect.objectContaining({ frame, application, requested: "organizer" })],
      ["applications", {
        frame,
        csrf: "csrf of 8",
        authorized: [expect.objectContaining({ application, grantedAt: expect.any(Date), fields: expect.any(Array) })]
      }],
      ["failure", expect.objectContaining({ status: 404, title: expect.any(String), advice: expect.any(String) })]
    ])
  })
})

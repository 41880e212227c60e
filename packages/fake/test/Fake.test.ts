import { Fake } from "@startlist/fake"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"
import { Exit, Scope } from "effect"
import { request } from "node:http"
import * as Listener from "../src/internal/Listener.ts"

const redirectUri = "http://localhost:7000/back"

let fake: Fake.Fake
let scope: Scope.CloseableScope
beforeEach(async () => {
  fake = await Fake.start()
  scope = Effect.runSync(Scope.make())
})
afterEach(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await fake.stop()
})

const receive = (): Promise<Receiver> => Effect.runPromise(Scope.extend(makeReceiver, scope))

const authorizationUrl = ({ clientId } = fake.application) =>
  `${fake.url}/oauth/authorize?${new URLSearchParams({
    client_id: String(clientId),
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "profile:read read",
    state: "s"
  })}`

const ask = (
  parameters: Record<string, string>,
  headers: Record<string, string> = {},
  { clientId, clientSecret } = fake.application
) =>
  fetch(`${fake.url}/oauth/token`, {
    method: "POST",
    headers,
    body: new URLSearchParams({
      client_id: String(clientId),
      client_secret: clientSecret,
      ...parameters
    })
  })

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const tokensOf = async (user: string, application = fake.application): Promise<Tokens> => {
  const back = new URL(await fake.consent(authorizationUrl(application), user))
  const code = back.searchParams.get("code") ?? ""
  const response = await ask({ grant_type: "authorization_code", code }, {}, application)
  expect(response.status).toBe(200)
  return await response.json()
}

const refresh = ({ refresh_token }: Tokens, key?: string) =>
  ask({ grant_type: "refresh_token", refresh_token }, key === undefined ? {} : { "idempotency-key": key })

const athlete = async ({ access_token }: Tokens): Promise<number> =>
  (await fetch(`${fake.url}/api/v1/athlete`, { headers: { authorization: `Bearer ${access_token}` } })).status

const subscribed = async (receiver: Receiver, application = fake.application) => {
  const { access_token } = await tokensOf("paul@platform.example", application)
  await tokensOf("alice@athletes.example", application)
  receiver.verify("/callback", application.signingSecret)
  const response = await fetch(`${fake.url}/api/v1/webhook_subscription`, {
    method: "POST",
    headers: { authorization: `Bearer ${access_token}`, "content-type": "application/json" },
    body: JSON.stringify({ webhook_subscription: { callback_url: receiver.url, verify_token: "v" } })
  })
  expect(response.status).toBe(201)
  return fake.addRegistration()
}

const json = { "content-type": "application/json" }

const control = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  fetch(`${fake.url}/fake${path}`, {
    method,
    headers: { ...(body === undefined ? {} : json), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })

/** The status of a request with these headers, which `fetch` would not send. */
const statusOf = (method: string, path: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(`${fake.url}${path}`, { method, headers }, (response) => resolve(response.resume().statusCode))
      .on("error", reject).end()
  })

it("answers a request that came before it was ready", async () => {
  const { port, serve, server } = await Listener.open(0, "127.0.0.1")
  try {
    const answer = fetch(`http://127.0.0.1:${port}/`)
    await new Promise((resolve) => server.once("request", resolve))
    serve((_, response) => response.end("ready"))
    expect(await (await answer).text()).toBe("ready")
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

describe("a fake", () => {
  it("serves the loop of an application, without a browser", async () => {
    const tokens = await tokensOf("alice@athletes.example")
    expect(await athlete(tokens)).toBe(200)
    const denied = new URL(await fake.consent(authorizationUrl(), "alice@athletes.example", "deny"))
    expect([denied.searchParams.get("error"), denied.searchParams.get("state")]).toEqual(["access_denied", "s"])
  })

  it("moves time: access tokens expire, and refresh tokens stay valid", async () => {
    const tokens = await tokensOf("alice@athletes.example")
    const before = fake.now().getTime()
    await fake.advance("7 hours")
    expect(await athlete(tokens)).toBe(200)
    await fake.advance("2 hours")
    expect(await athlete(tokens)).toBe(401)
    expect(fake.now().getTime() - before).toBeGreaterThanOrEqual(9 * 3_600_000)
    expect((await refresh(tokens)).status).toBe(200)
  })

  it("moves time by a part of a millisecond, and works afterwards", async () => {
    await fake.advance(1000 / 3)
    expect(Number.isInteger(fake.now().getTime())).toBe(true)
    expect(await athlete(await tokensOf("alice@athletes.example"))).toBe(200)
  })

  it("loses a response: the request was processed, and its repeat gets the same response", async () => {
    const tokens = await tokensOf("alice@athletes.example")
    fake.nextResponses({ fault: "lost", path: "/oauth/token" })
    await expect(refresh(tokens, "one")).rejects.toThrow()
    expect(await athlete(tokens)).toBe(200)
    const repeated = await refresh(tokens, "one")
    expect(repeated.status).toBe(200)
    expect((await refresh(await repeated.json())).status).toBe(200)
  })

  it("answers 503 the planned number of times, and then normally", async () => {
    const tokens = await tokensOf("alice@athletes.example")
    fake.nextResponses({ fault: "unavailable", count: 2 })
    expect([await athlete(tokens), await athlete(tokens), await athlete(tokens)]).toEqual([503, 503, 200])
  })

  it("answers slowly: a client with a timeout gives up", async () => {
    fake.nextResponses({ fault: "slow", delay: 60_000 })
    await expect(fetch(`${fake.url}/api/v1/athlete`, { signal: AbortSignal.timeout(50) })).rejects.toThrow()
    expect((await fetch(`${fake.url}/api/v1/athlete`)).status).toBe(401)
  })

  it("delivers a change and a revocation, in order and signed with the secret that was known before", async () => {
    const receiver = await receive()
    const registration = await subscribed(receiver)
    await fake.changeRegistration(registration, { registration_status: "validated" })
    await fake.revoke("alice@athletes.example")
    await fake.settle()
    const events = receiver.events()
    expect(events.map(({ body, isSigned, sequence }) => [JSON.parse(body).object_type, sequence, isSigned])).toEqual([
      ["registration", 2, true],
      ["athlete", 3, true]
    ])
  })

  it("sends an event twice, late, or never", async () => {
    const receiver = await receive()
    const registration = await subscribed(receiver)
    fake.nextDeliveries("twice")
    await fake.changeRegistration(registration, { comment: "twice" })
    await fake.settle()
    expect(new Set(receiver.events().map(({ id }) => id)).size).toBe(1)
    expect(receiver.events()).toHaveLength(2)

    fake.nextDeliveries("late")
    await fake.changeRegistration(registration, { comment: "late" })
    await fake.settle()
    expect(receiver.events()).toHaveLength(2)
    await fake.advance("1 minute")
    expect(receiver.events()).toHaveLength(3)

    fake.nextDeliveries("never")
    await fake.changeRegistration(registration, { comment: "never" })
    await fake.advance("10 minutes")
    expect(receiver.events()).toHaveLength(3)
    expect((await fake.deliveries()).map(({ state }) => state)).toEqual(["exhausted", "delivered", "delivered"])
  })

  it("disturbs an event for each application that gets it", async () => {
    const [one, two] = [await receive(), await receive()]
    const registration = await subscribed(one)
    await subscribed(two, await fake.addApplication({ name: "Second" }))
    const count = () => [one.events().length, two.events().length]
    fake.nextDeliveries("late")
    await fake.changeRegistration(registration, { comment: "late" })
    await fake.settle()
    expect(count()).toEqual([0, 0])
    await fake.advance("1 minute")
    expect(count()).toEqual([1, 1])
    fake.nextDeliveries("twice")
    await fake.changeRegistration(registration, { comment: "twice" })
    await fake.settle()
    expect(count()).toEqual([3, 3])
  })

  it("makes every due attempt when time is moved far", async () => {
    const receiver = await receive()
    const registration = await subscribed(receiver)
    receiver.answerWith(500)
    await fake.changeRegistration(registration, { comment: "refused" })
    await fake.advance("1 hour")
    expect(receiver.events()).toHaveLength(3)
    const [first, , third] = (await fake.deliveries())[0]?.attempts ?? []
    expect((third?.at.getTime() ?? 0) - (first?.at.getTime() ?? 0)).toBeGreaterThan(50_000)
  })

  it("signs with the machine's clock, so that a receiver accepts events also after the time was moved", async () => {
    const receiver = await receive()
    const registration = await subscribed(receiver)
    await fake.advance("30 days")
    await fake.changeRegistration(registration, { comment: "later" })
    await fake.settle()
    expect(receiver.events().map(({ isSigned }) => isSigned)).toEqual([true])
  })

  it("refuses wrong options by name, and leaves nothing open that would keep a test running", async () => {
    const listening = () => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length
    const onlyThis = () => vi.waitFor(() => expect(listening()).toBe(1))
    await onlyThis()
    const refused: ReadonlyArray<readonly [string, string]> = [
      [`{ "prt": 3 }`, "prt: there is no such option; use port, host"],
      [`{ "port": "x" }`, "port: must be a port from 0 to 65535"],
      [`{ "host": 4 }`, "host: must be an address"],
      [`{ "allow": "10.0.0.0/8" }`, "allow: must be an array"],
      [`{ "signsBy": "me" }`, `signsBy: must be "machine" or "fake"`],
      [`{ "redirectUris": ["nowhere"] }`, "redirect_uris: "],
      ["null", "options: must be an object"]
    ]
    for (const [options, message] of refused) {
      await expect(Fake.start(JSON.parse(options))).rejects.toThrow(message)
    }
    await onlyThis()
  })

  it("calls receivers on this machine, and in other networks only if they are allowed", async () => {
    const problems = async (on: Fake.Fake, callbackUrl: string) => {
      const query = new URL(authorizationUrl()).search
      const back = new URL(await on.consent(`${on.url}/oauth/authorize${query}`, "paul@platform.example"))
      const tokens = await fetch(`${on.url}/oauth/token`, {
        method: "POST",
        body: new URLSearchParams({
          client_id: String(on.application.clientId),
          client_secret: on.application.clientSecret,
          grant_type: "authorization_code",
          code: back.searchParams.get("code") ?? ""
        })
      })
      const response = await fetch(`${on.url}/api/v1/webhook_subscription`, {
        method: "POST",
        headers: { ...json, authorization: `Bearer ${(await tokens.json()).access_token}` },
        body: JSON.stringify({ webhook_subscription: { callback_url: callbackUrl, verify_token: "v" } })
      })
      return (await response.json()).message
    }
    const forbidden = "the address of the callback is not allowed"
    for (const url of ["https://10.1.2.3/", "https://192.168.0.1/", "https://[fd00::1]/", "https://192.0.2.1/"]) {
      expect([url, await problems(fake, url)]).toEqual([url, forbidden])
    }
    expect(await problems(fake, "https://8.8.8.8/")).toBe(forbidden)
    const other = await Fake.start({ allow: ["255.255.255.255/32"] })
    expect(await problems(other, "https://255.255.255.255:1/")).not.toBe(forbidden)
    await other.stop()
    await expect(Fake.start({ allow: ["10.0.0.0/40"] })).rejects.toThrow("allow: \"10.0.0.0/40\" is not a network")
  })

  it("serves no page of another site, nor a foreign name that was pointed to it", async () => {
    const { host, port } = new URL(fake.url)
    const own = [host, `localhost:${port}`, `[::1]:${port}`, "192.0.2.1"]
    const foreign = [
      "evil.example",
      `evil.example:${port}`,
      `localhost.evil.example:${port}`,
      "a@127.0.0.1",
      "127.0.0.1/x"
    ]
    for (const [names, control, service] of [[own, 200, 401], [foreign, 421, 421]] as const) {
      for (const name of names) {
        expect([name, await statusOf("GET", "/fake", { host: name })]).toEqual([name, control])
        expect([name, await statusOf("GET", "/api/v1/athlete", { host: name })]).toEqual([name, service])
      }
    }
    const named = await Fake.start({ names: ["startlist", "Fake_1"] })
    for (const host of ["startlist:80", "fake_1", "Fake_1:8090"]) {
      const status = new Promise((resolve) =>
        request(`${named.url}/fake`, { headers: { host } }, (got) => resolve(got.resume().statusCode)).end()
      )
      expect([host, await status]).toEqual([host, 200])
    }
    await named.stop()

    const before = fake.now().getTime()
    const pages = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `http://localhost:${port}` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" }
    ]
    for (const headers of pages) {
      expect(await statusOf("GET", "/fake", headers)).toBe(403)
      expect(await statusOf("POST", "/fake/sign-in", headers)).toBe(403)
      expect(await statusOf("POST", "/fake/time", { ...json, ...headers })).toBe(403)
    }
    expect((await control("POST", "/time", { advance: "1 day" }, { "content-type": "text/plain" })).status).toBe(415)
    expect(fake.now().getTime() - before).toBeLessThan(86_400_000)
    expect(await statusOf("GET", "/fake/sign-in", { "sec-fetch-site": "cross-site" })).toBe(200)
    for (const headers of [{ origin: fake.url }, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }]) {
      expect(await statusOf("GET", "/fake", headers)).toBe(200)
    }
  })

  it("records the requests of the application until they are removed", async () => {
    const tokens = await tokensOf("alice@athletes.example")
    await athlete(tokens)
    expect(fake.requests().map(({ method, status, target }) => [method, target, status])).toEqual([
      ["POST", "/oauth/token", 200],
      ["GET", "/api/v1/athlete", 200]
    ])
    expect(fake.requests()[0]?.body).toContain("grant_type=authorization_code")
    fake.clearRequests()
    expect(fake.requests()).toEqual([])
  })

  it("signs users in with one click, and never redirects to another server", async () => {
    const page = await fetch(authorizationUrl(), { redirect: "manual" })
    const signIn = new URL(page.headers.get("location") ?? "", fake.url)
    expect(await (await fetch(signIn)).text()).toContain("alice@athletes.example")
    const enter = (returnTo: string) =>
      fetch(`${fake.url}/fake/sign-in`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ user: "2", return_to: returnTo })
      })
    const entered = await enter(signIn.searchParams.get("return_to") ?? "")
    const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? ""
    const consent = await fetch(new URL(entered.headers.get("location") ?? "", fake.url), { headers: { cookie } })
    expect([consent.status, await consent.text()]).toEqual([200, expect.stringContaining("Race Planner")])
    expect((await enter("//elsewhere.example")).headers.get("location")).toBe("/account/applications")
  })
})

describe("the controls over HTTP", () => {
  it("do what the methods do", async () => {
    const { application, users } = await (await control("GET", "")).json()
    expect([application.client_id, application.signing_secret]).toEqual([
      fake.application.clientId,
      fake.application.signingSecret
    ])
    expect(users.map(({ role }: { role: string }) => role)).toEqual(["platform", "athlete", "organizer", "club"])
    const { redirect } = await (await control("POST", "/consent", { url: authorizationUrl(), user: 2 })).json()
    expect(new URL(redirect).searchParams.get("code")).not.toBeNull()
    expect((await control("POST", "/time", { advance: "1 day" })).status).toBe(200)
    const { id } = await (await control("POST", "/registrations", { athlete: 2, comment: "new" })).json()
    expect((await control("PATCH", `/registrations/${id}`, { registration_status: "validated" })).status).toBe(204)
    expect((await control("POST", "/responses", { next: "unavailable", path: "/api/v1/athlete" })).status).toBe(204)
    expect((await fetch(`${fake.url}/api/v1/athlete`)).status).toBe(503)
    expect((await control("POST", "/deliveries", { next: "twice" })).status).toBe(204)
    expect((await (await control("GET", "/deliveries")).json()).deliveries).toEqual([])
    expect((await control("POST", "/users", { role: "athlete", email: "new@athletes.example" })).status).toBe(201)
    const made = await (await control("POST", "/applications", { name: "Second" })).json()
    expect(made.client_secret).toMatch(/^sl_cs_/)
    expect((await (await control("GET", "/requests")).json()).requests).toHaveLength(1)
    expect((await control("DELETE", "/requests")).status).toBe(204)
  })

  it("name the problem of a request", async () => {
    const answers = [
      [400, "POST", "/time", { advance: 5 }, "advance"],
      [422, "POST", "/time", { advance: "soon" }, "advance"],
      [422, "POST", "/time", { advance: "-5 minutes" }, "advance"],
      [422, "POST", "/time", { advance: "99999999999999 weeks" }, "at most 36500 days"],
      [422, "POST", "/users", { role: "athlete", email: "alice@athletes.example" }, "another user"],
      [422, "POST", "/users", { role: "athlete", email: "nobody" }, "email: must be an e-mail address"],
      [422, "POST", "/users", { role: "athlete", email: "a@b", first_name: "a".repeat(201) }, "first_name: must be"],
      [422, "POST", "/consent", { url: authorizationUrl().replace("/authorize", "/authorise"), user: 2 }, "url"],
      [400, "POST", "/responses", { next: "explode" }, "next"],
      [400, "POST", "/responses", { next: "lost", often: true }, "often"],
      [422, "POST", "/consent", { url: authorizationUrl(), user: "nobody@example.org" }, "user"],
      [422, "POST", "/consent", { url: `${fake.url}/oauth/authorize?client_id=99`, user: 2 }, "unknown_client"],
      [422, "POST", "/revocations", { user: 2 }, "granted nothing"],
      [422, "PATCH", "/registrations/99", { comment: "x" }, "registration"],
      [404, "GET", "/nothing", undefined, "/fake/openapi.json"],
      [405, "DELETE", "/time", undefined, "is not allowed for this path"]
    ] as const
    for (const [status, method, path, body, message] of answers) {
      const answer = await control(method, path, body)
      expect([path, answer.status, (await answer.json()).message]).toEqual([
        path,
        status,
        expect.stringContaining(message)
      ])
    }
  })
})

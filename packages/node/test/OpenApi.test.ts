/**
 * Compares `openapi.json` with a running node: provokes every described response of every operation. Fails on a path,
 * status or field that is not described, and on one that is described but never seen.
 */
import { expect, layer } from "@effect/vitest"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { Context, Effect, Layer } from "effect"
import { Browser } from "@startlist/test-support/Browser"
import { authorizeUrl, consent, openAs, redirectUri } from "@startlist/test-support/Consent"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as InProcessService from "@startlist/test-support/InProcessService"
import type { Client, Person, Target } from "@startlist/test-support/Operator"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"

interface Media {
  readonly [contentType: string]: { readonly schema: object }
}
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Media }>>
  readonly requestBody?: { readonly content: Media }
}
interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Called {
  readonly status: number
  // The test looks into it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** Every response in the document: `GET /healthz 200`. */
const promised = ({ paths }: Document): ReadonlyArray<string> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`)
    )
  )

const pointer = (...parts: ReadonlyArray<string>): string =>
  `openapi#/${parts.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`

/** Calls the service as described. */
const makeCaller = (document: Document, service: Target) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema(document, "openapi")
  const validators = new Map<string, ValidateFunction>()
  const validate = (value: unknown, ...parts: ReadonlyArray<string>) => {
    const $ref = pointer(...parts)
    const known = validators.get($ref) ?? ajv.compile({ $ref })
    validators.set($ref, known)
    expect(known(value), `${$ref}: ${ajv.errorsText(known.errors)}\n${JSON.stringify(value)}`).toBe(true)
  }
  const templates = Object.keys(document.paths)
    .sort((a, b) => a.split("{").length - b.split("{").length)
    .map((path) => [path, new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`)] as const)
  const seen = new Set<string>()

  const call = async (method: string, target: string, init: RequestInit = {}): Promise<Called> => {
    const path = target.split("?")[0] ?? ""
    const [template = `no operation for ${path}`] = templates.find(([, expression]) => expression.test(path)) ?? []
    const operation = document.paths[template]?.[method.toLowerCase()]
    const response = await fetch(`${service.url}${target}`, { ...init, method, redirect: "manual" })
    const name = `${method} ${template} ${response.status}`
    const described = operation?.responses[String(response.status)]
    const text = await response.text()
    expect(described, `${name} is not described: ${text.slice(0, 300)}`).toBeDefined()
    seen.add(name)
    const at = ["paths", template, method.toLowerCase()]
    const type = (response.headers.get("content-type") ?? "").toLowerCase().replaceAll(" ", "")
    const types = Object.keys(described?.content ?? {})
    const isJson = type.startsWith("application/json")
    const body = text === "" ? null : isJson ? JSON.parse(text) : text
    if (types.length === 0) expect([name, text]).toEqual([name, ""])
    else {
      const declared = types.find((one) => type.startsWith(one.replaceAll(" ", "")))
      expect(declared, `${name} has the content type ${type} and not ${types.join(" or ")}`).toBeDefined()
      validate(body, ...at, "responses", String(response.status), "content", declared ?? "", "schema")
    }
    const isGood = response.status < 300
    if (isGood && operation?.requestBody?.content["application/json"] !== undefined && typeof init.body === "string") {
      validate(JSON.parse(init.body), ...at, "requestBody", "content", "application/json", "schema")
    }
    return { status: response.status, body }
  }

  const json = (body: unknown, token?: string): RequestInit => ({
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    }
  })

  return {
    seen,
    call,
    /** With the operator token. */
    operate: (method: string, path: string, body?: unknown) =>
      call(method, `/operator/v1${path}`, json(body, service.operatorToken)),
    /** With any token. */
    bearing: (token: string | undefined, method: string, path: string, body?: unknown) =>
      call(method, path, json(body, token)),
    form: (path: string, fields: Readonly<Record<string, string>>) =>
      call("POST", path, { body: new URLSearchParams(fields) })
  }
}

type Caller = ReturnType<typeof makeCaller>

/** Sends bodies that are too large or have another type to operations with a body. */
const sendUnreadable = async ({ call }: Caller, path: string, authorization: string, method = "POST") => {
  const headers = { authorization, "content-type": "application/json" }
  const large = JSON.stringify("x".repeat(66_000))
  expect((await call(method, path, { headers, body: large })).status).toBe(413)
  expect((await call(method, path, { headers: { authorization, "content-type": "text/plain" }, body: "x" })).status)
    .toBe(415)
}

interface World {
  readonly platform: Person
  readonly athlete: Person
  readonly client: Client
  readonly registration: number
}

const operatorOperations = [
  ["GET", "/users"],
  ["POST", "/users"],
  ["GET", "/users/1"],
  ["GET", "/users/1/grants"],
  ["POST", "/users/1/revocations"],
  ["POST", "/users/1/disable"],
  ["POST", "/users/1/enable"],
  ["DELETE", "/users/1/sessions"],
  ["GET", "/users/1/export"],
  ["POST", "/users/1/password-resets"],
  ["DELETE", "/users/1"],
  ["GET", "/applications"],
  ["POST", "/applications"],
  ["GET", "/applications/1"],
  ["PATCH", "/applications/1"],
  ["GET", "/applications/1/secrets"],
  ["POST", "/applications/1/secrets"],
  ["DELETE", "/applications/1/secrets/1"],
  ["GET", "/applications/1/signing-secrets"],
  ["POST", "/applications/1/signing-secrets"],
  ["DELETE", "/applications/1/signing-secrets/1"],
  ["POST", "/applications/1/limit"],
  ["POST", "/applications/1/suspend"],
  ["POST", "/applications/1/restore"],
  ["POST", "/applications/1/revocations"],
  ["DELETE", "/applications/1"],
  ["GET", "/subscriptions"],
  ["POST", "/applications/1/subscription/pause"],
  ["POST", "/applications/1/subscription/resume"],
  ["DELETE", "/applications/1/subscription"],
  ["POST", "/deliveries/cancel"],
  ["POST", "/registrations"],
  ["GET", "/registrations/1"],
  ["PATCH", "/registrations/1"],
  ["GET", "/deliveries"],
  ["GET", "/deliveries/1"],
  ["POST", "/deliveries/redeliver"],
  ["POST", "/deliveries/1/redeliver"],
  ["GET", "/audit"],
  ["POST", "/backups"]
] as const

/** Operations without a body. */
const bodiless =
  /\/(?:deliveries\/1\/redeliver|suspend|restore|applications\/1\/revocations|pause|resume|disable|enable|backups|password-resets)$/

/** Calls with a wrong operator token, from an address that a trusted proxy names. */
const wrongToken = ({ call }: Caller, address: string, method: string, path: string) =>
  call(method, path, { headers: { authorization: "Bearer wrong", "x-forwarded-for": address } })

/** Every operation of the operator API with every response, except that of an unavailable database. */
const operatorApi = async (caller: Caller, service: Target): Promise<World> => {
  const { operate } = caller
  const person = async (role: string): Promise<Person> => {
    const email = `${role}@example.test`
    const names = { first_name: "Ada", last_name: "Lovelace" }
    const { body } = await operate("POST", "/users", { role, email, password: "pass word", ...names })
    return { ...body, password: "pass word" }
  }
  const platform = await person("platform")
  const athlete = await person("athlete")
  expect(
    (await operate("POST", "/users", { role: "athlete", email: "athlete@example.test", password: "pass word" })).status
  )
    .toBe(409)
  await operate("POST", "/users", { role: "athlete" })
  await operate("GET", "/users?email=athlete@example.test")
  await operate("GET", "/users")
  await operate("GET", "/users?limit=0")
  for (const id of [athlete.id, 999_999, "x"]) {
    await operate("GET", `/users/${id}`)
    await operate("GET", `/users/${id}/grants`)
    await operate("POST", `/users/${id}/disable`)
    await operate("POST", `/users/${id}/enable`)
    await operate("DELETE", `/users/${id}/sessions`)
    await operate("GET", `/users/${id}/export`)
    await operate("POST", `/users/${id}/password-resets`)
  }
  const { id: former } = await person("club")
  for (const id of [former, 999_999, "x"]) await operate("DELETE", `/users/${id}`)

  const settings = { name: "Race Day", owner_id: platform.id, redirect_uris: [redirectUri], require_pkce: false }
  const client: Client = (await operate("POST", "/applications", settings)).body
  await operate("POST", "/applications", { ...settings, owner_id: athlete.id })
  await operate("POST", "/applications", {})
  await operate("GET", "/applications?limit=1")
  await operate("GET", "/applications?limit=0")
  for (const id of [client.client_id, 999_999, "x"]) {
    await operate("GET", `/applications/${id}`)
    await operate("PATCH", `/applications/${id}`, { name: "Race Days" })
    await operate("GET", `/applications/${id}/secrets`)
    await operate("GET", `/applications/${id}/signing-secrets`)
    for (const kind of ["secrets", "signing-secrets"]) {
      for (const _ of [2, 3, 4, 5, 6]) await operate("POST", `/applications/${id}/${kind}`, { overlap_seconds: 60 })
      for (const number of [2, 5, 999]) await operate("DELETE", `/applications/${id}/${kind}/${number}`)
    }
    await operate("POST", `/applications/${id}/limit`, { requests_per_minute: 600 })
    await operate("POST", `/applications/${id}/limit`, { requests_per_minute: null })
    await operate("POST", `/applications/${id}/suspend`)
    await operate("POST", `/applications/${id}/restore`)
    await operate("POST", `/applications/${id}/revocations`)
    await operate("POST", `/applications/${id}/subscription/pause`)
    await operate("POST", `/applications/${id}/subscription/resume`)
    await operate("DELETE", `/applications/${id}/subscription`)
  }
  const { client_id: formerly } = (await operate("POST", "/applications", settings)).body
  for (const [id, status] of [[formerly, 204], [999_999, 404], ["x", 400]] as const) {
    expect((await operate("DELETE", `/applications/${id}`)).status).toBe(status)
  }
  expect((await operate("GET", `/applications/${formerly}`)).status).toBe(404)
  expect((await operate("DELETE", `/users/${platform.id}`)).status).toBe(409)
  await operate("GET", "/subscriptions?limit=1")
  await operate("GET", "/subscriptions?limit=0")
  await operate("POST", "/deliveries/cancel", { client_id: client.client_id })
  await operate("POST", "/deliveries/cancel", {})
  await operate("POST", "/deliveries/redeliver", {})
  await operate("PATCH", `/applications/${client.client_id}`, { redirect_uris: ["http://elsewhere.test/"] })

  const registration = (await operate("POST", "/registrations", { athlete_id: athlete.id })).body.id
  await operate("POST", "/registrations", { athlete_id: platform.id })
  await operate("POST", "/registrations", {})
  for (const id of [registration, 999_999, "x"]) {
    await operate("GET", `/registrations/${id}`)
    await operate("PATCH", `/registrations/${id}`, { registration_status: "validated" })
  }
  for (const id of [999_999, "x"]) {
    await operate("POST", `/users/${id}/revocations`, { client_id: client.client_id })
    await operate("POST", `/deliveries/${id}/redeliver`)
    await operate("GET", `/deliveries/${id}`)
  }
  await operate("GET", "/deliveries")
  await operate("GET", "/deliveries?state=lost")
  await operate("GET", "/audit")
  await operate("GET", "/audit?limit=0")
  await operate(
    "GET",
    `/audit?action=login&user_id=1&client_id=1&since=2026-01-31T08:00:00Z&until=2026-02-01T00:00:00Z`
  )
  await operate("GET", "/audit?since=yesterday")
  expect((await operate("POST", "/backups")).status).toBe(409)
  expect((await operate("POST", "/backups", "{")).status).toBe(400)

  for (const [place, [method, path]] of operatorOperations.entries()) {
    expect((await wrongToken(caller, `198.51.100.${place + 1}`, method, `/operator/v1${path}`)).status).toBe(401)
    const takesBody = method !== "GET" && method !== "DELETE" && !bodiless.test(path)
    if (takesBody) await sendUnreadable(caller, `/operator/v1${path}`, `Bearer ${service.operatorToken}`, method)
  }
  return { platform, athlete, client, registration }
}

/** The loop of an application, with every refusal. */
const protocol = async (caller: Caller, service: Target, receiver: Receiver, world: World) => {
  const { bearing, call, form, operate } = caller
  const { athlete, client, platform } = world
  const path = new URL(authorizeUrl(service, client, { scope: "profile:read" })).pathname +
    new URL(authorizeUrl(service, client, { scope: "profile:read" })).search
  expect((await call("GET", path)).status).toBe(303)
  expect((await call("GET", "/oauth/authorize?client_id=999999")).status).toBe(400)
  expect((await call("GET", `${path}&state=${"x".repeat(13_000)}`)).status).toBe(414)
  const browser = new Browser()
  const shown = await openAs(browser, `${service.url}${path}`, athlete)
  const cookie = await browser.jar.getCookieString(service.url)
  expect(shown.status).toBe(200)
  expect((await call("GET", path, { headers: { cookie } })).status).toBe(200)

  const credentials = { client_id: String(client.client_id), client_secret: client.client_secret }
  const tokensFor = async (user: Person, scope: string) => {
    const back = await consent(authorizeUrl(service, client, { scope, state: "s" }), user)
    const code = back.searchParams.get("code") ?? ""
    return (await form("/oauth/token", { ...credentials, grant_type: "authorization_code", code })).body
  }
  const first = await tokensFor(athlete, "profile:read")
  const refreshed = await form("/oauth/token", {
    ...credentials,
    grant_type: "refresh_token",
    refresh_token: first.refresh_token
  })
  expect((await form("/oauth/token", { ...credentials, grant_type: "password" })).status).toBe(400)
  expect(
    (await form("/oauth/token", {
      ...credentials,
      client_secret: "wrong",
      grant_type: "refresh_token",
      refresh_token: "x"
    })).status
  )
    .toBe(401)
  for (const endpoint of ["/oauth/token", "/oauth/revoke", "/oauth/introspect"]) {
    await sendUnreadable(caller, endpoint, "")
  }
  expect((await form("/oauth/introspect", { ...credentials, token: first.access_token })).body.active).toBe(true)
  expect((await form("/oauth/introspect", { ...credentials, token: "sl_at_1_1_unknown" })).body).toEqual({
    active: false
  })
  expect((await form("/oauth/introspect", { ...credentials, client_secret: "wrong", token: "x" })).status).toBe(401)
  expect((await form("/oauth/introspect", credentials)).status).toBe(400)
  await call("GET", "/.well-known/oauth-authorization-server")
  await call("GET", "/.well-known/oauth-protected-resource")

  expect((await bearing(refreshed.body.access_token, "GET", "/api/v1/athlete")).status).toBe(200)
  const owner = (await tokensFor(platform, "read")).access_token
  expect((await bearing(owner, "GET", "/api/v1/athlete")).status).toBe(403)
  const subscription = "/api/v1/webhook_subscription"
  const wanted = { webhook_subscription: { callback_url: receiver.url, verify_token: "v" } }
  await bearing(owner, "GET", subscription)
  await bearing(owner, "DELETE", subscription)
  expect((await bearing(owner, "POST", subscription, "{")).status).toBe(400)
  await sendUnreadable(caller, subscription, `Bearer ${owner}`)
  expect((await bearing(owner, "POST", subscription, { webhook_subscription: {} })).status).toBe(422)
  expect((await bearing(owner, "POST", subscription, wanted)).status).toBe(201)
  const ofApplication = `/applications/${client.client_id}/subscription`
  const ofOne = async () =>
    (await operate("GET", `/subscriptions?limit=1&client_id=${client.client_id}`)).body.subscriptions.length
  expect(await ofOne()).toBe(1)
  expect((await operate("POST", `${ofApplication}/pause`)).body.paused).toBe(true)
  expect((await operate("POST", `${ofApplication}/resume`)).body.paused).toBe(false)
  expect((await bearing(owner, "POST", subscription, wanted)).status).toBe(409)
  expect((await bearing(owner, "GET", subscription)).status).toBe(200)
  for (const [method, body] of [["GET"], ["POST", wanted], ["DELETE"]] as const) {
    expect((await bearing(undefined, method, subscription, body)).status).toBe(401)
    expect((await bearing(refreshed.body.access_token, method, subscription, body)).status).toBe(403)
  }
  expect((await bearing(undefined, "GET", "/api/v1/athlete")).status).toBe(401)
  const events = `${subscription}/events`
  expect((await bearing(owner, "GET", events)).status).toBe(200)
  expect((await bearing(owner, "GET", `${events}?after=x`)).status).toBe(422)
  expect((await bearing(undefined, "GET", events)).status).toBe(401)
  expect((await bearing(refreshed.body.access_token, "GET", events)).status).toBe(403)

  receiver.answerWith(500)
  await operate("PATCH", `/registrations/${world.registration}`, { registration_status: "refused" })
  await receiver.posts(1)
  const { body } = await operate("GET", `/deliveries?client_id=${client.client_id}`)
  const delivery = body.deliveries[0].id
  expect((await operate("GET", `/deliveries/${delivery}`)).status).toBe(200)
  expect((await operate("POST", `/deliveries/${delivery}/redeliver`)).status).toBe(202)
  expect((await operate("POST", "/deliveries/redeliver", { state: "exhausted" })).status).toBe(200)
  expect((await bearing(owner, "DELETE", subscription)).status).toBe(204)
  expect((await bearing(owner, "POST", subscription, wanted)).status).toBe(201)
  expect((await operate("DELETE", ofApplication)).status).toBe(204)
  expect(await ofOne()).toBe(0)
  expect((await operate("POST", `/deliveries/${delivery}/redeliver`)).status).toBe(409)
  const unreachable = { webhook_subscription: { callback_url: "http://127.0.0.1:1/", verify_token: "v" } }
  for (let i = 0; i < 8; i++) expect((await bearing(owner, "POST", subscription, unreachable)).status).toBe(422)
  expect((await bearing(owner, "POST", subscription, unreachable)).status).toBe(429)

  const limit = `/applications/${client.client_id}/limit`
  expect((await operate("POST", limit, { requests_per_minute: 1 })).body.requests_per_minute).toBe(1)
  expect((await form("/oauth/introspect", { ...credentials, token: owner })).status).toBe(200)
  for (const path of ["/api/v1/athlete", subscription, events]) {
    expect((await bearing(owner, "GET", path)).status).toBe(429)
  }
  expect((await bearing(owner, "DELETE", subscription)).status).toBe(429)
  expect((await operate("POST", limit, { requests_per_minute: null })).body.requests_per_minute).toBe(null)

  const user = `/users/${athlete.id}/revocations`
  expect((await operate("POST", user, { client_id: client.client_id })).status).toBe(204)
  await operate("POST", user, {})
  expect((await form("/oauth/revoke", credentials)).status).toBe(400)
  expect((await form("/oauth/revoke", { ...credentials, client_secret: "wrong", token: owner })).status).toBe(401)
  expect((await form("/oauth/revoke", { ...credentials, token: owner })).status).toBe(200)
  return owner
}

/** Wrong secrets until the limit is reached. */
const guessTooOften = async ({ form }: Caller, endpoint: string) => {
  const guess = {
    client_id: "999998",
    client_secret: "wrong",
    grant_type: "refresh_token",
    refresh_token: "x",
    token: "x"
  }
  for (let i = 0; i < 100; i++) if ((await form(endpoint, guess)).status === 429) return
  throw new Error(`${endpoint} lets anybody guess`)
}

/** Wrong operator tokens until the limit, then every endpoint that needs the token. The right token still works. */
const guessOperatorToken = async (caller: Caller) => {
  const address = "198.51.100.250"
  for (let i = 0; i < 30; i++) expect((await wrongToken(caller, address, "GET", "/operator/v1/audit")).status).toBe(401)
  for (const [method, path] of operatorOperations) {
    expect((await wrongToken(caller, address, method, `/operator/v1${path}`)).status).toBe(429)
  }
  expect((await wrongToken(caller, address, "GET", "/metrics")).status).toBe(429)
  expect((await wrongToken(caller, address, "POST", "/oauth/introspect")).status).toBe(429)
  expect((await caller.operate("GET", "/audit")).status).toBe(200)
}

/** All operations that need the database, while it is unavailable. */
const outage = async (caller: Caller, world: World) => {
  const { bearing, call, form, operate } = caller
  const { athlete, client } = world
  const credentials = { client_id: String(client.client_id), client_secret: client.client_secret, token: "sl_at_1_1_x" }
  const answers = await Promise.all([
    call("GET", `/oauth/authorize?client_id=${client.client_id}`),
    form("/oauth/token", { ...credentials, grant_type: "refresh_token", refresh_token: "x" }),
    form("/oauth/revoke", credentials),
    form("/oauth/introspect", credentials),
    bearing("sl_at_1_1_x", "GET", "/api/v1/athlete"),
    ...["GET", "POST", "DELETE"].map((method) =>
      bearing("sl_at_1_1_x", method, "/api/v1/webhook_subscription", method === "POST" ? {} : undefined)
    ),
    bearing("sl_at_1_1_x", "GET", "/api/v1/webhook_subscription/events"),
    operate("POST", "/users", { role: "club", email: "c@example.test", password: "pass word" }),
    operate("GET", "/users?email=a@example.test"),
    operate("GET", `/users/${athlete.id}`),
    operate("GET", `/users/${athlete.id}/grants`),
    operate("POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id }),
    operate("POST", "/applications", { name: "a", owner_id: 1, redirect_uris: [] }),
    operate("GET", "/applications"),
    operate("GET", `/applications/${client.client_id}`),
    operate("PATCH", `/applications/${client.client_id}`, { name: "b" }),
    operate("GET", `/applications/${client.client_id}/secrets`),
    operate("POST", `/applications/${client.client_id}/secrets`),
    operate("DELETE", `/applications/${client.client_id}/secrets/1`),
    operate("DELETE", `/applications/${client.client_id}/signing-secrets/1`),
    operate("GET", `/applications/${client.client_id}/signing-secrets`),
    operate("POST", `/applications/${client.client_id}/signing-secrets`),
    operate("POST", "/registrations", { athlete_id: athlete.id }),
    operate("GET", "/registrations/1"),
    operate("PATCH", "/registrations/1", {}),
    operate("POST", "/users/1/disable"),
    operate("POST", "/users/1/enable"),
    operate("DELETE", "/users/1/sessions"),
    operate("GET", "/users/1/export"),
    operate("POST", "/users/1/password-resets"),
    operate("DELETE", "/users/1"),
    operate("GET", "/subscriptions"),
    operate("POST", "/applications/1/limit", { requests_per_minute: null }),
    operate("POST", "/applications/1/suspend"),
    operate("POST", "/applications/1/restore"),
    operate("POST", "/applications/1/revocations"),
    operate("DELETE", "/applications/1"),
    operate("POST", "/applications/1/subscription/pause"),
    operate("POST", "/applications/1/subscription/resume"),
    operate("DELETE", "/applications/1/subscription"),
    operate("POST", "/deliveries/cancel", { client_id: 1 }),
    operate("POST", "/deliveries/redeliver", { state: "exhausted" }),
    operate("GET", "/deliveries"),
    operate("GET", "/deliveries/1"),
    operate("POST", "/deliveries/1/redeliver"),
    operate("GET", "/audit"),
    call("GET", "/readyz")
  ])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503))
}

/** The service, and what its document describes. Each test continues with what those before it have made. */
class Described extends Context.Tag("@startlist/node/test/Described")<Described, {
  readonly service: InProcessService.Service
  readonly receiver: Receiver
  readonly document: Document
  readonly caller: Caller
  readonly world: () => Promise<World>
}>() {}

const described = Layer.scoped(
  Described,
  Effect.gen(function*() {
    const receiver = yield* makeReceiver
    const service = yield* InProcessService.make({ TRUSTED_PROXIES: "127.0.0.0/8" })
    const document: Document = yield* Effect.promise(() =>
      fetch(`${service.url}/openapi.json`).then((response) => response.json())
    )
    const caller = makeCaller(document, service)
    let world: Promise<World> | undefined
    return { service, receiver, document, caller, world: () => world ??= operatorApi(caller, service) }
  })
)

layer(described, { excludeTestServices: true })("every operation gives only described responses", (it) => {
  const on = (test: (described: Described["Type"]) => Promise<unknown>) =>
    Effect.flatMap(Described, (described) => Effect.promise(() => test(described)))

  it.effect("without an account", () =>
    on(async ({ caller }) => {
      for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json", "/asyncapi.json"]) {
        expect((await caller.call("GET", path)).status).toBe(200)
      }
      const stranger = { headers: { "x-forwarded-for": "203.0.113.9" } }
      expect((await caller.call("GET", "/metrics", stranger)).status).toBe(401)
    }))

  it.effect("to the operator", () => on(({ world }) => world()))

  it.effect("to an application", () =>
    on(async ({ caller, receiver, service, world }) => protocol(caller, service, receiver, await world())))

  it.effect("to those who guess", () =>
    on(async ({ caller }) => {
      for (const endpoint of ["token", "revoke", "introspect"]) await guessTooOften(caller, `/oauth/${endpoint}`)
      await guessOperatorToken(caller)
    }))

  it.scoped("with the embedded database, which has its own backups", () =>
    Effect.gen(function*() {
      const { caller, document } = yield* Described
      const embedded = yield* InProcessService.make({ DATABASE_URL: "", DATA_DIR: yield* temporaryFolder })
      const owner = makeCaller(document, embedded)
      expect(yield* Effect.promise(() => owner.operate("POST", "/backups"))).toEqual({
        status: 201,
        body: { folder: expect.any(String) }
      })
      for (const name of owner.seen) caller.seen.add(name)
    }))

  it.effect("while the database is unavailable, and all together every described response", () =>
    Effect.gen(function*() {
      const { caller, document, service, world } = yield* Described
      const made = yield* Effect.promise(world)
      yield* service.database.close
      yield* Effect.promise(() => outage(caller, made))
      expect(caller.seen.size).toBeGreaterThan(100)
      expect([...caller.seen].sort()).toEqual([...promised(document)].sort())
    }))
})

/** Wrong values from callers without types. A sentence names the first one. */
import { Startlist, WebStartlist } from "@startlist/embed"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"

const key = Buffer.alloc(32, 1).toString("base64")
const pages = { identify: () => undefined, signInUrl: () => "/sign-in", signOutUrl: "/sign-out" }
const paul: Startlist.User = { id: 7, role: "platform", email: "paul@club.example" }

const defaults: Startlist.Options = {
  url: "https://club.example/connect",
  findUser: (id) => id === paul.id ? paul : undefined,
  endpoints: ["oauth", "athlete"]
}

/** Calls a function with values that its types do not allow. */
const untyped = async (call: Function, ...args: ReadonlyArray<unknown>): Promise<unknown> => call(...args)

const address = "must be an http or https address without query: https://club.example/connect"

const refusedOptions: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
  [{ databse: {} }, "databse: there is no such option; use url, key, "],
  [{ url: undefined }, "url: is missing"],
  ...[
    3,
    null,
    "club.example",
    "https://",
    "https://club.example/?a=b",
    "https://club.example/\"",
    "https://club.example:99999"
  ]
    .map((url): readonly [Record<string, unknown>, string] => [{ url }, `url: ${address}`]),
  [{ findUser: {} }, "findUser: must be a function"],
  [{ key: 42 }, "key: must be 32 bytes in base64"],
  [{ key: "short" }, "key: must be 32 bytes in base64"],
  [{ key, retiredKeys: key }, "retiredKeys: must be an array"],
  [{ key, retiredKeys: [key, "x"] }, "retiredKeys[1]: must be 32 bytes in base64"],
  [{ database: { folder: "/nowhere" } }, "key is missing: a database needs it"],
  [{ key, database: null }, "database: must be an object"],
  [{ key, database: "postgres://x" }, "database: must be an object"],
  [{ key, database: {} }, "database.url: is missing"],
  [{ key, database: { url: "mysql://x/y" } }, "database.url: must be postgres://"],
  [{ key, database: { url: "postgres://x/y", poolSize: 1 } }, "database.poolSize: there is no such option"],
  [{ key, database: { url: "postgres://x/y", folder: "z" } }, "database.url: there is no such option; use folder"],
  [{ key, database: { url: "postgres://x/y", prefix: "A-" } }, "database.prefix: must be letters, digits and _"],
  [{ key, database: { folder: "" } }, "database.folder: must be a path"],
  [{ endpoints: ["consents"] }, `endpoints[0]: must be "oauth", "athlete", `],
  [{ endpoints: "oauth" }, "endpoints: must be an array"],
  [{ endpoints: ["consent"] }, "authentication is missing: the pages need it"],
  [{ authentication: { ...pages, signInUrl: "/sign-in" } }, "authentication.signInUrl: must be a function"],
  [{ authentication: { ...pages, identify: undefined } }, "authentication.identify: is missing"],
  [{ policy: null }, "policy: must be an object"],
  [{ policy: { lifetime: 1 } }, "policy.lifetime: there is no such option"],
  [{ policy: { codeLifetime: "soon" } }, "policy.codeLifetime: must be a duration of at most 10 minutes"],
  [{ policy: { codeLifetime: "1 hour" } }, "policy.codeLifetime: must be a duration of at most 10 minutes"],
  [{ policy: { accessTokenLifetime: -1 } }, "policy.accessTokenLifetime: must be a duration of at least a second"],
  [{ policy: { secretOverlap: Infinity } }, "policy.secretOverlap: must be a duration"],
  [{ policy: { deliveryDelays: [5, "later"] } }, "policy.deliveryDelays[1]: must be a duration"],
  [{ policy: { deliveryPoll: 0 } }, "policy.deliveryPoll: must be a duration of at least 10 milliseconds"],
  [{ policy: { callbackTimeout: "15 seconds" } }, "policy.deliveryLease: must be longer than policy.callbackTimeout"],
  [{ policy: { scopes: [] } }, "policy.scopes: must not be empty"],
  [{ policy: { scopes: "read" } }, "policy.scopes: must be an array"],
  [{ policy: { scopes: ["a b"] } }, "policy.scopes[0]: must be a scope without spaces"],
  [{ policy: { webhookScope: "hooks" } }, "policy.webhookScope: must be one of policy.scopes"],
  [{ policy: { maxCodes: 1.5 } }, "policy.maxCodes: must be an integer of at least 1"],
  [{ policy: { replay: "maybe" } }, `policy.replay: must be "refuse" or "revoke"`],
  [{ platform: { nam: "Club" } }, "platform.nam: there is no such option"],
  [{ platform: { color: "red" } }, "platform.color: must be a colour"],
  [
    { endpoints: ["consent"], authentication: pages, platform: { color: "#ffff00" } },
    "platform.color: "
  ],
  [{ templates: { failure: "x" } }, "templates.failure: must be a function"],
  [{ resources: ["https://club.example"] }, "resources[0]: must be an object"],
  [{ resources: [{ url: "club" }] }, `resources[0].url: ${address}`],
  [
    { resources: [{ url: "https://a.example/x" }, { url: "https://b.example/x" }] },
    "resources: must have different paths"
  ],
  [{ trustedProxies: ["abc"] }, "trustedProxies[0]: must be a network such as 10.1.0.0/16"],
  [{ callbacks: { allow: ["10.0.0.0/99"] } }, "callbacks.allow[0]: must be a network"],
  [{ callbacks: { allow: "10.0.0.0/8" } }, "callbacks.allow: must be an array"],
  [{ importedSecrets: {} }, "importedSecrets.accepts: is missing"],
  [{ limits: { timeout: "long" } }, "limits.timeout: must be a duration"],
  [{ limits: { capacity: "3" } }, "limits.capacity: must be an integer of at least 0"],
  [{ worker: "no" }, "worker: must be true or false"],
  [{ issuer: 3 }, `issuer: ${address}`],
  [{ log: console }, "log: must be a function"]
]

describe("options", () => {
  it("that are wrong are refused by name", async () => {
    for (const [wrong, message] of refusedOptions) {
      const refused = expect(untyped(Startlist.make, { ...defaults, ...wrong }), message).rejects
      await refused.toThrow(TypeError)
      await expect(untyped(Startlist.make, { ...defaults, ...wrong })).rejects.toThrow(message)
    }
    await expect(untyped(Startlist.make)).rejects.toThrow("options: must be an object")
    const web = untyped(WebStartlist.make, { ...defaults, database: { folder: "x" } })
    await expect(web).rejects.toThrow("database: there is no such option")
  })

  it("that are undefined have their defaults", async () => {
    const names = ["callbacks", "database", "key", "limits", "log", "platform", "policy", "resources", "templates"]
    const missing = Object.fromEntries(names.map((name) => [name, undefined]))
    const policy = { maxCodes: undefined, scopes: undefined }
    for (const given of [missing, { policy }, { callbacks: { allow: undefined, userAgent: undefined } }]) {
      const startlist = await untyped(Startlist.make, { ...defaults, ...given }) as Startlist.Startlist
      const found = await startlist.handler(
        new Request("https://club.example/.well-known/oauth-authorization-server/connect")
      )
      expect((await found.json()).scopes_supported).toContain("read")
      await startlist.close()
    }
  })
})

describe("calls", () => {
  let startlist: Startlist.Startlist
  let application: number
  beforeAll(async () => {
    startlist = await Startlist.make({ ...defaults, resources: [{ url: "https://club.example/mcp" }] })
    const created = await startlist.applications.create(7, { name: "Race Day", redirectUris: ["http://localhost/"] })
    application = created.ok ? created.application.id : 0
  })
  afterAll(() => startlist.close())

  const refuses = (message: string, call: Function, ...args: ReadonlyArray<unknown>) =>
    expect(untyped(call, ...args), message).rejects.toMatchObject({ name: "TypeError", message })

  it("refuse a wrong requirement, which would let every token pass", async () => {
    const { check, guardHandler, guardListener } = startlist
    for (const guard of [guardHandler, guardListener, (wrong: unknown) => untyped(check, "Bearer x", wrong)]) {
      await refuses("requirement.scope: there is no such option; use resource, scopes, roles", guard, { scope: ["a"] })
      await refuses("requirement.scopes: must be an array", guard, { scopes: "read" })
      await refuses(
        `requirement.roles[0]: must be "platform", "organizer", "club" or "athlete"`,
        guard,
        { roles: ["trainer"] }
      )
      const resource = { resource: "https://club.example/other" }
      await refuses("requirement.resource: must be one of the resources in the options", guard, resource)
    }
    await refuses("handle: must be a function", guardHandler, {})
    expect(guardHandler({ resource: "https://club.example/mcp" }, () => new Response())).toBeTypeOf("function")
  })

  it("refuse an overlap that they cannot read, which would end all other secrets", async () => {
    const { rotateSecret, rotateSigningSecret, secrets } = startlist.applications
    const before = await secrets(application)
    for (const rotate of [rotateSecret, rotateSigningSecret]) {
      for (const overlapSeconds of [-1, "60", null, NaN]) {
        await refuses("rotation.overlapSeconds: must be an integer of at least 0", rotate, application, {
          overlapSeconds
        })
      }
      const typo = "rotation.overlap: there is no such option; use overlapSeconds"
      await refuses(typo, rotate, application, { overlap: 60 })
    }
    expect(await secrets(application)).toEqual(before)
  })

  it("refuse arguments of another form by name", async () => {
    const { applications, consents, deliveries, events, personalData, registrations } = startlist
    await refuses("settings.redirectUris: must be an array", applications.create, 7, {
      name: "x",
      redirectUris: "http://localhost/"
    })
    await refuses("settings.redirectUris: is missing", applications.create, 7, { name: "x" })
    await refuses("settings: must be an object", applications.change, application)
    await refuses("filter.limit: must be an integer of at least 0", applications.list, { limit: "x" })
    await refuses("filter: must be an object", applications.list, null)
    await refuses(
      `filter.state: must be "pending", "delivered", "exhausted", "cancelled" or "set_aside"`,
      deliveries.list,
      { state: "sent" }
    )
    await refuses("parties: must be an object", registrations.create)
    await refuses("changed.parties: is missing", events.registrationChanged, { id: 1 })
    await refuses("registrationIds: must be an array", personalData.erase, 8, "77")
    await refuses("query: must be the text of the query of your page", consents.check)
    await refuses("dryrun: there is no such option; use dryRun", startlist.import, [], {
      dryrun: true
    })
    await refuses("records: must be lines: an array, or another iterable, and not one text", startlist.import, "{}")
    const query = new URLSearchParams({
      response_type: "code",
      client_id: String(application),
      redirect_uri: "http://localhost/",
      scope: "read"
    })
    await refuses("user: must be an object", consents.allow, String(query))
    await refuses("user.id: must be an integer from 1 to 2^53 - 1", consents.allow, String(query), { ...paul, id: "7" })
  })

  it("refuse fields of a registration that do not exist or are missing", async () => {
    const { events, registrations } = startlist
    const known = "platform_id, registration_status, document_type, document_status, reasons, comment"
    expect(await untyped(registrations.change, 1, { commnt: "x" })).toEqual({
      ok: false,
      reason: "invalid",
      field: "commnt",
      message: `there is no such field; use ${known}`
    })
    const changed = { id: 1, parties: { athleteId: 8 }, updates: { comment: "x" } }
    expect(await untyped(events.registrationChanged, changed)).toMatchObject({ ok: false, field: "platform_id" })
  })

  it("say that Startlist is closed", async () => {
    const closed = await Startlist.make(defaults)
    await closed.close()
    await expect(closed.grants.list(7)).rejects.toThrow(new Error("Startlist is closed"))
    await expect(closed.check("Bearer x")).rejects.toThrow(new Error("Startlist is closed"))
  })
})

describe("functions of the server", () => {
  /** Starts Startlist with these functions, and asks for a page. */
  const asked = async (
    given: Record<string, unknown>,
    path = "/connect/account/applications"
  ): Promise<readonly [status: number, ...log: ReadonlyArray<unknown>]> => {
    const log: Array<Startlist.LogEntry> = []
    const { identify = () => ({ user: paul, csrf: "unguessable" }), templates, ...others } = given
    const options = {
      ...defaults,
      endpoints: undefined,
      authentication: { ...pages, identify, ...others },
      templates,
      log: (entry: Startlist.LogEntry) => log.push(entry)
    }
    const startlist = await untyped(Startlist.make, options) as Startlist.Startlist
    const { status } = await startlist.handler(new Request(`https://club.example${path}`))
    await startlist.close()
    return [status, ...log.map(({ cause, message }) => cause instanceof Error ? cause.message : message)]
  }

  it("that return something else than they should give 500, and the log says what", async () => {
    const page = (give: () => unknown) => ({ templates: { applications: give } })
    const wrongText = "must be text that is not empty"
    const told: ReadonlyArray<readonly [Record<string, unknown>, string]> = [
      [{ identify: () => ({ user: paul }) }, `identify().csrf: ${wrongText}`],
      [{ identify: () => ({ user: paul, csrf: "" }) }, `identify().csrf: ${wrongText}`],
      [{ identify: () => ({ user: { ...paul, role: "boss" }, csrf: "x" }) }, "identify().user.role: must"],
      [{ identify: () => undefined, signInUrl: () => undefined }, `signInUrl(): ${wrongText}`],
      [page(() => Promise.resolve("page")), `templates.applications(): ${wrongText}`],
      [
        page(() => {
          throw new Error("no such template")
        }),
        "no such template"
      ]
    ]
    for (const [given, reason] of told) {
      const [status, said, ...others] = await asked(given)
      expect([status, said, others]).toEqual([500, expect.stringContaining(reason), []])
    }
  })

  it("that fail give 503, and one line in the log", async () => {
    const failed = await asked({ identify: () => Promise.reject(new Error("the session store is away")) })
    expect(failed).toEqual([
      503,
      "/account/applications: the store is unavailable: the server's function `identify` failed: the session store is away"
    ])
  })

  it("reject a call with their own error behind it, and without Effect", async () => {
    const away = new Error("the users are away")
    const startlist = await Startlist.make({ ...defaults, findUser: () => Promise.reject(away) })
    const failed = await startlist.applications.create(7, { name: "x", redirectUris: [] }).catch((error) => error)
    expect(failed.message).toBe(
      "Startlist could not answer: the server's function `findUser` failed: the users are away"
    )
    expect([failed.constructor, failed.cause]).toEqual([Error, away])
    expect(failed.stack).not.toMatch(/fiber|_tag|StoreError/i)
    await startlist.close()
    const other = await Startlist.make({ ...defaults, findUser: () => ({ ...paul, id: 8 }) })
    const created = other.applications.create(7, { name: "x", redirectUris: [] })
    await expect(created).rejects.toThrow("findUser(): must be the user 7")
    await other.close()
  })
})

describe("the log", () => {
  it("is one line on the console by default, and survives a function that fails", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {})
    try {
      for (
        const log of [undefined, () => {
          throw new Error("the log is full")
        }]
      ) {
        const identify = () => Promise.reject(new Error("away"))
        const startlist = await Startlist.make({
          ...defaults,
          endpoints: ["account"],
          authentication: { ...pages, identify },
          ...(log && { log })
        })
        const page = await startlist.handler(new Request("https://club.example/connect/account/applications"))
        expect(page.status).toBe(503)
        await startlist.close()
      }
      expect(error.mock.calls.map(([line]) => line)).toEqual([
        "startlist: /account/applications: the store is unavailable: the server's function `identify` failed: away",
        "startlist: the function `log` failed:"
      ])
    } finally {
      error.mockRestore()
    }
  })
})

it("a database that cannot be opened rejects with the reason", async () => {
  const database = { url: "postgres://user:hidden@127.0.0.1:1/none" }
  const failed = await Startlist.make({ ...defaults, key, database }).catch((error) => error)
  expect([failed.constructor, failed.message]).toEqual([
    Error,
    "the database cannot be reached: Failed to acquire connection: connect ECONNREFUSED 127.0.0.1:1"
  ])
  expect(failed.cause.code).toBe("ECONNREFUSED")
  expect(failed.stack).not.toContain("hidden")
})

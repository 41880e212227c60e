/** The operator API from outside: every documented response, and a 4xx with a reason for everything else. */
import { createHash } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { authorizeUrl, consent, exchange, obtainTokens } from "@startlist/test-support/Consent"
import { createApplication, createRegistration, createUser, operate } from "@startlist/test-support/Operator"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"

const problem = (resource: string, field: string, code: string) =>
  expect.objectContaining({ resource, field, code, message: expect.any(String) })

/** A request, and the status and reason of its refusal. */
type Case = readonly [
  name: string,
  request: readonly [method: string, path: string, body?: unknown],
  status: number,
  ...problems: ReadonlyArray<readonly [resource: string, field: string, code: string]>
]

/** Counts the cancelled deliveries of each transaction. */
const countedCancellations = `
  CREATE TABLE cancellations (transaction xid8, count integer);
  CREATE FUNCTION count_cancellations() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO cancellations
        SELECT pg_current_xact_id(), count(*) FROM changed WHERE state = 'c' HAVING count(*) > 0;
      RETURN NULL;
    END
  $$;
  CREATE TRIGGER count_cancellations AFTER UPDATE ON startlist_deliveries REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_cancellations();
`

/** A paused subscription of an application, with 10 001 pending deliveries. */
const backlogOf = (applicationId: number) => `
  WITH subscribed AS (
    INSERT INTO startlist_subscriptions (application_id, version, callback_url, created_at, updated_at, paused)
      VALUES (${applicationId}, 1, 'https://a.test', 0, 0, true) RETURNING id
  )
  INSERT INTO startlist_deliveries
      (application_id, subscription_id, event_id, aspect_type, object_type, object_id, event_time, due_at, state, head)
    SELECT ${applicationId}, id, 'evt_' || i, 'u', 'r', i, i, 0, 'p', true FROM subscribed, generate_series(1, 10001) i
`

const unpaired = "\ud800"

const cases: ReadonlyArray<Case> = [
  ["a body that is not JSON", ["POST", "/users", "{"], 400, ["Request", "", "malformed"]],
  ["an array", ["POST", "/users", "[]"], 400, ["Request", "", "invalid"]],
  ["null", ["POST", "/users", "null"], 400, ["Request", "", "invalid"]],
  ["nesting without end", ["POST", "/users", `${"[".repeat(30_000)}${"]".repeat(30_000)}`], 400, [
    "Request",
    "",
    "malformed"
  ]],
  ["a body over 64 KiB", ["POST", "/users", JSON.stringify({ comment: "x".repeat(65_536) })], 413, [
    "Request",
    "",
    "too_large"
  ]],
  [
    "nothing",
    ["POST", "/users", {}],
    400,
    ["Request", "role", "missing"],
    ["Request", "email", "missing"],
    ["Request", "password", "missing"]
  ],
  [
    "wrong types",
    ["POST", "/users", { role: "king", email: 7, password: ["x"], first_name: {} }],
    400,
    ["Request", "role", "invalid"],
    ["Request", "email", "invalid"],
    ["Request", "password", "invalid"],
    ["Request", "first_name", "invalid"]
  ],
  [
    "an unknown field",
    ["POST", "/users", { role: "athlete", email: "a@b.test", password: "correct horse", nickname: "y" }],
    400,
    ["Request", "nickname", "unknown_field"]
  ],
  ["an unknown filter", ["GET", "/deliveries?stat=exhausted"], 400, ["Request", "stat", "unknown_field"]],
  ["a filter of another list", ["GET", "/applications?state=pending"], 400, ["Request", "state", "unknown_field"]],
  [
    "an unknown filter beside a wrong one",
    ["GET", "/deliveries?state=dead&clientid=1"],
    400,
    ["Request", "clientid", "unknown_field"],
    ["Request", "state", "invalid"]
  ],
  ["a filter in the query of a change", ["POST", "/deliveries/redeliver?client_id=7", { state: "exhausted" }], 400, [
    "Request",
    "client_id",
    "unknown_field"
  ]],
  ["an unknown parameter of the audit", ["GET", "/audit?from=1"], 400, ["Request", "from", "unknown_field"]],
  ["an unknown parameter of a search", ["GET", "/users?email=a@b.test&role=club"], 400, [
    "Request",
    "role",
    "unknown_field"
  ]],
  ["NUL in text", ["POST", "/registrations", { athlete_id: 1, comment: "a\0b" }], 400, [
    "Request",
    "comment",
    "invalid"
  ]],
  ["half a surrogate pair in text", ["POST", "/registrations", { athlete_id: 1, reasons: ["ok", unpaired] }], 400, [
    "Request",
    "reasons",
    "invalid"
  ]],
  [
    "NUL in an e-mail address",
    ["POST", "/users", { role: "athlete", email: "a\0@b", password: "correct horse" }],
    400,
    [
      "Request",
      "email",
      "invalid"
    ]
  ],
  ["NUL in a name", ["POST", "/applications", { name: "a\0", owner_id: 1, redirect_uris: [] }], 400, [
    "Request",
    "name",
    "invalid"
  ]],
  [
    "half a surrogate pair in a redirect URI",
    ["POST", "/applications", {
      name: "a",
      owner_id: 1,
      redirect_uris: [`https://a.test/${unpaired}`]
    }],
    400,
    ["Request", "redirect_uris", "invalid"]
  ],
  [
    "control characters in what a person typed",
    ["POST", "/users", {
      role: "athlete",
      email: "a\u001b@b.test",
      password: "correct horse",
      first_name: "A\u202eda",
      last_name: "Love\nlace"
    }],
    400,
    ["Request", "email", "invalid"],
    ["Request", "first_name", "invalid"],
    ["Request", "last_name", "invalid"]
  ],
  ...["Startlist", "StartIist", "Strаva", "Race\u200bDay", "Race\u202eDay", "Race\u001b[2J"].map((name): Case => [
    `the application name ${JSON.stringify(name)}`,
    ["POST", "/applications", { name, owner_id: 1, redirect_uris: [] }],
    422,
    ["Application", "name", "invalid"]
  ]),
  ...["", "secret", "1234567", "password", "QWERTYUIOP"].map((password): Case => [
    `the password ${JSON.stringify(password)}`,
    ["POST", "/users", { role: "athlete", email: "a@b.test", password }],
    400,
    ["Request", "password", "invalid"]
  ]),
  ["an owner who does not exist", ["POST", "/applications", { name: "a", owner_id: 999_999, redirect_uris: [] }], 422, [
    "Application",
    "owner_id",
    "invalid"
  ]],
  ["an athlete who does not exist", ["POST", "/registrations", { athlete_id: 999_999 }], 422, [
    "Registration",
    "athlete_id",
    "invalid"
  ]],
  ["an id beyond 2^53", ["POST", "/registrations", { athlete_id: 9_007_199_254_740_992 }], 400, [
    "Request",
    "athlete_id",
    "invalid"
  ]],
  ["an unknown user", ["GET", "/users/999999"], 404, ["User", "id", "not_found"]],
  ["an unknown application", ["GET", "/applications/999999"], 404, ["Application", "client_id", "not_found"]],
  ["a change of an unknown application", ["PATCH", "/applications/999999", { name: "x" }], 404, [
    "Application",
    "client_id",
    "not_found"
  ]],
  ["a secret for an unknown application", ["POST", "/applications/999999/secrets"], 404, [
    "Application",
    "client_id",
    "not_found"
  ]],
  ["an unknown registration", ["PATCH", "/registrations/999999", { comment: "x" }], 404, [
    "Registration",
    "id",
    "not_found"
  ]],
  ["a revocation for an unknown user", ["POST", "/users/999999/revocations", { client_id: 1 }], 404, [
    "User",
    "id",
    "not_found"
  ]],
  ...[{ state: "pending" }, { state: "exhausted", since: "yesterday" }, { state: "exhausted", after: "12" }, {
    state: "exhausted",
    client_id: "1"
  }].map((body): Case => {
    const [field = "state"] = Object.keys(body).filter((name) => name !== "state")
    return [`a redelivery of ${JSON.stringify(body)}`, ["POST", "/deliveries/redeliver", body], 400, [
      "Request",
      field,
      "invalid"
    ]]
  }),
  ["redelivery of nothing", ["POST", "/deliveries/999999/redeliver"], 404, ["Delivery", "id", "not_found"]],
  ...["1e3", "0", "-1", "1.5", "0x1", "%00", "%31%30", "9007199254740993", "99999999999999999999"].map((id): Case => [
    `the id ${id}`,
    ["GET", `/registrations/${id}`],
    id === "%31%30" ? 404 : 400,
    id === "%31%30" ? ["Registration", "id", "not_found"] : ["Request", "id", "invalid"]
  ]),
  ["a path that is not percent-encoded", ["GET", "/registrations/%zz"], 404, ["Request", "", "not_found"]],
  ["a path that does not exist", ["GET", "/nothing"], 404, ["Request", "", "not_found"]],
  ["a method that does not exist there", ["PUT", "/applications", {}], 405, ["Request", "", "method_not_allowed"]],
  ["a page of nothing", ["GET", "/deliveries?limit=0"], 400, ["Request", "limit", "invalid"]],
  ["a page without end", ["GET", "/deliveries?limit=501"], 400, ["Request", "limit", "invalid"]],
  ["a state that does not exist", ["GET", "/deliveries?state=lost"], 400, ["Request", "state", "invalid"]],
  ["a parameter that is repeated", ["GET", "/audit?limit=1&limit=2"], 400, ["Request", "", "repeated"]],
  ["a cursor that is no id", ["GET", "/audit?after=x"], 400, ["Request", "after", "invalid"]],
  ["an e-mail address to look for that is too long", ["GET", `/users?email=${"x".repeat(255)}`], 400, [
    "Request",
    "email",
    "invalid"
  ]],
  ["an overlap without end", ["POST", "/applications/1/secrets", { overlap_seconds: 1e9 }], 400, [
    "Request",
    "overlap_seconds",
    "invalid"
  ]]
]

layer(InProcessService.layer())("the operator API", (it) => {
  for (const [name, [method, path, body], status, ...problems] of cases) {
    it.effect(
      `${name}: ${status}`,
      on(async (service) => {
        const answer = await operate(service, method, path, body)
        expect(answer.status).toBe(status)
        expect(answer.body).toEqual({
          message: expect.stringMatching(/./),
          error: expect.stringMatching(/^(?:invalid_request|invalid_token)$/),
          error_description: answer.body.message,
          errors: problems.map((args) => problem(...args))
        })
      })
    )
  }

  it.effect(
    "a missing token, a wrong token and another scheme get 401",
    on(async (service) => {
      const url = `${service.url}/operator/v1/applications`
      const authorizations = [
        undefined,
        "Bearer ",
        "Bearer wrong",
        `Bearer ${service.operatorToken}x`,
        `Bearer ${service.operatorToken.slice(0, -1)}`,
        `Basic ${service.operatorToken}`,
        service.operatorToken
      ]
      for (const authorization of authorizations) {
        const response = await fetch(url, authorization === undefined ? {} : { headers: { authorization } })
        expect(response.status).toBe(401)
        expect(response.headers.get("www-authenticate")).toContain("Bearer")
        expect((await response.json()).errors).toEqual([problem("Request", "authorization", "unauthorized")])
      }
    })
  )

  it.effect(
    "another media type gets 415",
    on(async (service) => {
      const answer = await operate(service, "POST", "/users", "role=athlete", { "content-type": "text/plain" })
      expect([answer.status, answer.body.errors]).toEqual([415, [problem("Request", "", "unsupported_media_type")]])
    })
  )

  it.effect(
    "a created user is returned without the password; the address is unique without regard to case",
    on(async (service) => {
      const wanted = { role: "club", email: "Club@Example.test", password: "pass word" }
      const created = await operate(service, "POST", "/users", wanted)
      expect(created.status).toBe(201)
      const record = {
        id: expect.any(Number),
        role: "club",
        email: "Club@Example.test",
        first_name: "",
        last_name: "",
        disabled: false
      }
      expect(created.body).toEqual(record)
      const again = await operate(service, "POST", "/users", { ...wanted, email: "club@EXAMPLE.test" })
      expect([again.status, again.body.errors]).toEqual([409, [problem("User", "email", "taken")]])
      expect((await operate(service, "GET", `/users/${created.body.id}`)).body).toEqual(record)
      expect((await operate(service, "GET", "/users?email=CLUB@example.test")).body).toEqual({ users: [record] })
      expect((await operate(service, "GET", "/users?email=nobody@example.test")).body).toEqual({ users: [] })
    })
  )

  it.effect(
    "an application's secret is shown at its creation only; settings change; unregistered redirect URIs are refused",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const redirect_uris = ["https://app.test/callback"]
      const created = await operate(service, "POST", "/applications", {
        name: "One",
        owner_id: owner.id,
        redirect_uris
      })
      const record = {
        client_id: expect.any(Number),
        name: "One",
        owner_id: owner.id,
        redirect_uris,
        require_pkce: false,
        website: null,
        privacy_policy: null,
        logo: null,
        requests_per_minute: null,
        state: "active"
      }
      expect([created.status, created.body]).toEqual([201, {
        ...record,
        client_secret: expect.stringMatching(/^sl_cs_/),
        signing_secret: expect.stringMatching(/^whsec_/)
      }])
      const path = `/applications/${created.body.client_id}`
      expect((await operate(service, "GET", path)).body).toEqual(record)
      const changed = await operate(service, "PATCH", path, { name: "Two", require_pkce: true })
      expect([changed.status, changed.body]).toEqual([200, { ...record, name: "Two", require_pkce: true }])
      const bad = await operate(service, "PATCH", path, { redirect_uris: ["http://evil.test/"] })
      expect([bad.status, bad.body.errors]).toEqual([422, [problem("Application", "redirect_uris", "invalid")]])
      expect((await operate(service, "GET", "/applications?limit=1")).body).toEqual({
        applications: [{ ...record, name: "Two", require_pkce: true }],
        next: created.body.client_id
      })
      const athlete = await createUser(service, "athlete")
      const refused = await operate(service, "POST", "/applications", {
        name: "X",
        owner_id: athlete.id,
        redirect_uris
      })
      expect([refused.status, refused.body.errors]).toEqual([422, [problem("Application", "owner_id", "invalid")]])
    })
  )

  it.effect(
    "an application's limit is set, shown and removed, and the audit says to which value",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const { client_id } = await createApplication(service, owner)
      const path = `/applications/${client_id}`
      const set = (requests_per_minute: unknown) => operate(service, "POST", `${path}/limit`, { requests_per_minute })
      expect((await set(600)).body).toMatchObject({ client_id, requests_per_minute: 600 })
      expect((await operate(service, "GET", path)).body.requests_per_minute).toBe(600)
      expect((await operate(service, "PATCH", path, { name: "Renamed" })).body.requests_per_minute).toBe(600)
      expect((await set(null)).body.requests_per_minute).toBe(null)
      for (const wrong of [0, -1, 1.5, 1_000_001, "600", undefined]) {
        const { body, status } = await set(wrong)
        const code = wrong === undefined ? "missing" : "invalid"
        expect([status, body.errors]).toEqual([400, [problem("Request", "requests_per_minute", code)]])
      }
      expect((await operate(service, "POST", "/applications/4711/limit", { requests_per_minute: 1 })).status).toBe(404)
      const { body } = await operate(service, "GET", `/audit?client_id=${client_id}&action=operator_call`)
      const details = body.entries.map(({ detail }: { readonly detail: string }) => detail)
      const call = `POST /operator/v1${path}/limit`
      expect(details.filter((detail: string) => detail.startsWith(`${call} 200`))).toEqual([
        `${call} 200: no limit`,
        `${call} 200: 600 requests per minute`
      ])
    })
  )

  it.effect(
    "applications are listed newest first, page by page, each once",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      for (let i = 0; i < 5; i++) await createApplication(service, owner)
      const seen: Array<number> = []
      let after = ""
      do {
        const { body } = await operate(service, "GET", `/applications?limit=2${after}`)
        seen.push(...body.applications.map(({ client_id }: { client_id: number }) => client_id))
        after = body.next === undefined ? "" : `&after=${body.next}`
      } while (after !== "")
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a))
      expect(seen.length).toBeGreaterThanOrEqual(5)
    })
  )

  it.effect(
    "a new secret is valid immediately, and the previous one for the overlap, which may be 0",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const client = await createApplication(service, owner)
      const statusWith = async (secret: string) => {
        const back = await consent(authorizeUrl(service, client), owner)
        const code = back.searchParams.get("code") ?? ""
        return (await exchange(service, { ...client, client_secret: secret }, code)).status
      }
      const path = `/applications/${client.client_id}/secrets`
      const first = await operate(service, "POST", path)
      expect([first.status, first.body]).toEqual([201, {
        client_secret: expect.stringMatching(/^sl_cs_/),
        number: 2
      }])
      expect(await statusWith(client.client_secret)).toBe(200)
      expect(await statusWith(first.body.client_secret)).toBe(200)
      const second = await operate(service, "POST", path, { overlap_seconds: 0 })
      expect(await statusWith(second.body.client_secret)).toBe(200)
      expect(await statusWith(first.body.client_secret)).not.toBe(200)
      expect(await statusWith(client.client_secret)).not.toBe(200)
    })
  )

  it.effect(
    "an application has a signing secret from the start; it can be shown again, and is rotated with an overlap",
    on(async (service) => {
      const { id: owner_id } = await createUser(service, "platform")
      const settings = { name: "One", owner_id, redirect_uris: ["https://app.test/"] }
      const { body: { client_id, signing_secret } } = await operate(service, "POST", "/applications", settings)
      const path = `/applications/${client_id}/signing-secrets`
      const first = await operate(service, "GET", path)
      expect([first.status, first.body]).toEqual([200, { signing_secrets: [{ value: signing_secret, number: 1 }] }])
      const rotated = await operate(service, "POST", path)
      expect([rotated.status, rotated.body]).toEqual([201, {
        signing_secrets: [
          { value: expect.stringMatching(/^whsec_/), number: 2 },
          { value: signing_secret, number: 1, expires_at: expect.any(String) }
        ]
      }])
      expect((await operate(service, "GET", path)).body).toEqual(rotated.body)
      expect((await operate(service, "GET", "/applications/4711/signing-secrets")).status).toBe(404)
    })
  )

  for (const kind of ["client_secrets", "signing_secrets"] as const) {
    it.effect(
      `five ${kind} are live at most, each until its end; a replaced one can be ended, the current one cannot`,
      on(async (service) => {
        const { client_id } = await createApplication(service, await createUser(service, "platform"))
        const path = `/applications/${client_id}/${kind === "client_secrets" ? "secrets" : "signing-secrets"}`
        const listed = async () => {
          const { body } = await operate(service, "GET", `/applications/${client_id}/secrets`)
          return body[kind].map(({ number }: { readonly number: number }) => number)
        }
        for (const _ of [2, 3, 4, 5]) expect((await operate(service, "POST", path)).status).toBe(201)
        const sixth = await operate(service, "POST", path)
        const { body: { [kind]: [, , , , oldest] } } = await operate(
          service,
          "GET",
          `/applications/${client_id}/secrets`
        )
        expect([sixth.status, sixth.body.errors[0].code]).toEqual([409, "too_many"])
        expect(sixth.body.message).toContain(`number ${oldest.number}, or wait until ${oldest.expires_at}`)
        expect(JSON.stringify(oldest)).not.toMatch(/sl_cs|whsec/)
        expect(await listed()).toEqual([5, 4, 3, 2, 1])
        const end = async (number: unknown) => (await operate(service, "DELETE", `${path}/${number}`)).status
        expect([await end(5), await end(6), await end(2), await end(2), await end("x")]).toEqual([
          409,
          404,
          204,
          404,
          400
        ])
        expect(await listed()).toEqual([5, 4, 3, 1])
        expect((await operate(service, "POST", path, { overlap_seconds: 0 })).status).toBe(201)
        expect(await listed()).toEqual([6])
      })
    )
  }

  it.effect(
    "a registration has all fields from the start; a change affects only the given fields",
    on(async (service) => {
      const athlete = await createUser(service, "athlete")
      const created = await operate(service, "POST", "/registrations", { athlete_id: athlete.id, club_id: null })
      const record = {
        id: expect.any(Number),
        athlete_id: athlete.id,
        organizer_id: null,
        club_id: null,
        platform_user_id: null,
        platform_id: "",
        registration_status: "",
        document_type: "",
        document_status: "",
        reasons: [],
        comment: ""
      }
      expect([created.status, created.body]).toEqual([201, record])
      const path = `/registrations/${created.body.id}`
      const changed = await operate(service, "PATCH", path, { document_status: "refused", reasons: ["unreadable"] })
      const after = { ...record, document_status: "refused", reasons: ["unreadable"] }
      expect([changed.status, changed.body]).toEqual([200, after])
      expect((await operate(service, "PATCH", path, {})).body).toEqual(after)
      expect((await operate(service, "GET", path)).body).toEqual(after)
      const swapped = await operate(service, "POST", "/registrations", { athlete_id: athlete.id, club_id: athlete.id })
      expect([swapped.status, swapped.body.errors]).toEqual([422, [problem("Registration", "club_id", "invalid")]])
    })
  )

  it.effect(
    "a revocation for a user ends the access; without access it gets 404",
    on(async (service) => {
      const athlete = await createUser(service, "athlete")
      const client = await createApplication(service, await createUser(service, "platform"))
      const revoke = () => operate(service, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
      expect((await revoke()).status).toBe(404)
      const { access_token } = await obtainTokens(service, client, athlete)
      const answer = await revoke()
      expect([answer.status, answer.body]).toEqual([204, null])
      const read = await fetch(`${service.url}/api/v1/athlete`, {
        headers: { authorization: `Bearer ${access_token}` }
      })
      expect(read.status).toBe(401)
    })
  )

  it.effect(
    "the audit lists who did what from where, newest first, without secrets",
    on(async (service) => {
      const athlete = await createUser(service, "athlete")
      const client = await createApplication(service, await createUser(service, "platform"))
      await obtainTokens(service, client, athlete)
      await operate(service, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
      const { body } = await operate(service, "GET", "/audit?limit=5")
      const operator = { type: "operator" }
      expect(body.entries.map(({ action, actor, detail }: Record<string, unknown>) => ({ action, actor, detail })))
        .toEqual([
          { action: "operator_call", actor: operator, detail: `POST /operator/v1/users/${athlete.id}/revocations 204` },
          {
            action: "revocation",
            actor: { type: "user", id: athlete.id },
            detail: "by an operator, on behalf of the user"
          },
          { action: "consent", actor: { type: "user", id: athlete.id }, detail: "as athlete" },
          { action: "login", actor: { type: "user", id: athlete.id }, detail: undefined },
          { action: "operator_call", actor: operator, detail: "POST /operator/v1/applications 201" }
        ])
      for (const entry of body.entries) {
        expect(entry.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        expect(entry.address).toBe("127.0.0.1")
      }
      const all = JSON.stringify((await operate(service, "GET", "/audit?limit=500")).body)
      expect(all).not.toContain(client.client_secret)
      expect(all).not.toContain(athlete.password)
      const page = await operate(service, "GET", `/audit?limit=1&after=${body.entries[0].id}`)
      expect(page.body.entries[0].id).toBe(body.entries[1].id)
    })
  )

  it.effect(
    "the end of a subscription or an application cancels 10 001 deliveries, at most 5 000 in one transaction",
    on(async (service) => {
      const { admin } = service.database
      await admin.query(countedCancellations)
      const owner = await createUser(service, "platform")
      for (const suffix of ["/subscription", ""]) {
        const { client_id } = await createApplication(service, owner)
        await admin.query(backlogOf(client_id))
        const path = `/applications/${client_id}${suffix}`
        expect((await operate(service, "DELETE", path, "{")).status).toBe(400)
        const { rows: untouched } = await admin.query("SELECT FROM cancellations")
        expect(untouched).toEqual([])
        expect((await operate(service, "DELETE", path)).status).toBe(204)
        const { rows } = await admin.query(
          `SELECT sum(count)::integer AS total, max(count)::integer AS most
            FROM (SELECT sum(count) AS count FROM cancellations GROUP BY transaction) t`
        )
        expect(rows).toEqual([{ total: 10_001, most: 5000 }])
        await admin.query("TRUNCATE cancellations")
      }
    })
  )

  it.effect(
    "an application without deliveries gets an empty page",
    on(async (service) => {
      const athlete = await createUser(service, "athlete")
      await createRegistration(service, { athlete_id: athlete.id })
      const client = await createApplication(service, await createUser(service, "platform"))
      const { body, status } = await operate(
        service,
        "GET",
        `/deliveries?client_id=${client.client_id}&state=&after=&limit=`
      )
      expect([status, body]).toEqual([200, { deliveries: [] }])
    })
  )

  it.effect(
    "/docs is compressed, and cached by browsers until its entity tag changes",
    on(async (service) => {
      const first = await fetch(`${service.url}/docs`)
      const html = await first.text()
      expect(first.headers.get("content-encoding")).toBe("gzip")
      expect(html).toContain("Fetch events")
      const tag = first.headers.get("etag") ?? ""
      const again = await fetch(`${service.url}/docs`, { headers: { "if-none-match": tag } })
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag])
      const french = await fetch(`${service.url}/docs`, { headers: { "accept-language": "fr", "if-none-match": tag } })
      expect([french.status, french.headers.get("etag") === tag]).toEqual([200, false])
      expect((await fetch(`${service.url}/docs/nothing`)).status).toBe(404)
    })
  )

  it.effect(
    "the pages of /docs show every operation, parameter and field; no value is missing, and every link resolves",
    on(async (service) => {
      const load = async (path: string) => (await fetch(`${service.url}${path}`)).text()
      const overview = await load("/docs")
      const groups = [...new Set(overview.match(/\/docs\/[a-z]+/g))]
      const pages = new Map([
        ["/docs", overview],
        ...await Promise.all(
          groups.map(async (path): Promise<[string, string]> => [path, await load(path)])
        )
      ])
      const { paths, webhooks } = JSON.parse(await load("/openapi.json"))
      const all = groups.map((path) => pages.get(path)).join("")
      interface Described {
        readonly summary: string
        readonly parameters?: ReadonlyArray<{ readonly name: string }>
      }
      for (const [path, methods] of Object.entries<Record<string, Described>>({ ...paths, ...webhooks })) {
        for (const { parameters = [], summary } of Object.values(methods)) {
          for (const text of [summary, ...parameters.map(({ name }) => name)]) expect(all, path).toContain(text)
        }
      }
      for (const text of ["hub.challenge", "webhook_subscription.callback_url", "updates.comment"]) {
        expect(all).toContain(text)
      }
      for (const [path, html] of pages) {
        expect(html.replace(/<script[\s\S]*?<\/script>/, ""), path).not.toMatch(/undefined|\[object|NaN/)
        const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
        expect(new Set(ids).size, path).toBe(ids.length)
        for (const [, target = ""] of html.matchAll(/href="([^"]+)"/g)) {
          const [page = "", fragment] = target.split("#")
          if (fragment === undefined) continue
          const found = page === "" ? html : pages.get(page)
          expect(found, `${path}: ${target}`).toContain(` id="${fragment}"`)
        }
      }
    })
  )

  it.effect(
    "openapi.json describes every operation and is the same as docs/openapi.json; /docs shows it",
    on(async (service) => {
      const text = await (await fetch(`${service.url}/openapi.json`)).text()
      // After a change of the API, `npx vitest run --project fast OperatorApi -u` writes this file.
      await expect(text).toMatchFileSnapshot("../../../docs/openapi.json")
      const specification = JSON.parse(text)
      expect(specification.openapi).toMatch(/^3\.1/)
      const operations = Object.entries<object>(specification.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
      )
      expect(operations).toEqual(expect.arrayContaining([
        "GET /oauth/authorize",
        "POST /oauth/token",
        "POST /oauth/revoke",
        "GET /api/v1/athlete",
        "POST /api/v1/webhook_subscription",
        "GET /api/v1/webhook_subscription",
        "DELETE /api/v1/webhook_subscription",
        "POST /operator/v1/users",
        "POST /operator/v1/users/{id}/revocations",
        "POST /operator/v1/applications",
        "GET /operator/v1/applications",
        "GET /operator/v1/applications/{client_id}",
        "PATCH /operator/v1/applications/{client_id}",
        "POST /operator/v1/applications/{client_id}/secrets",
        "POST /operator/v1/registrations",
        "GET /operator/v1/registrations/{id}",
        "PATCH /operator/v1/registrations/{id}",
        "GET /operator/v1/deliveries",
        "POST /operator/v1/deliveries/redeliver",
        "POST /operator/v1/deliveries/{id}/redeliver",
        "GET /operator/v1/audit"
      ]))
      const docs = await fetch(`${service.url}/docs`)
      expect(docs.status).toBe(200)
      expect(docs.headers.get("content-type")).toContain("text/html")
      const html = await docs.text()
      for (const path of Object.keys(specification.paths)) expect(html).toContain(path)
      const policy = docs.headers.get("content-security-policy")
      expect(policy).toBe((await fetch(`${service.url}/login`)).headers.get("content-security-policy"))
      expect(policy).not.toContain("unsafe")
      const [script = "", code = ""] = /<script [^>]*>(.*?)<\/script>/s.exec(html) ?? []
      expect(policy).toContain(`script-src 'sha256-${createHash("sha256").update(code).digest("base64")}'`)
      expect(html.replace(script, "")).not.toMatch(/<script|<style|\sstyle=|\son\w+=|(?:src|href)="?(?:https?:)?\/\//)
    })
  )
})

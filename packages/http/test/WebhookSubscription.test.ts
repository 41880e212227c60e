import { describe, expect } from "@effect/vitest"
import { Callbacks } from "@startlist/core"
import { Effect, Fiber, Option, Redacted, TestClock } from "effect"
import { answered, answers, Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const path = "/api/v1/webhook_subscription"
const callbackUrl = "https://receiver.test/events"

const subscribing = (world: TestWorld, by = world.platformBrowser) =>
  Effect.gen(function*() {
    const { send } = yield* Service
    const { access_token } = yield* world.tokens({}, by)
    const authorization = World.bearer(access_token)
    return {
      get: send("GET", path, { headers: authorization }),
      remove: (query = "") => send("DELETE", path + query, { headers: authorization }),
      post: (subscription: unknown) =>
        send("POST", path, {
          headers: { ...authorization, "content-type": "application/json; charset=utf-8" },
          body: JSON.stringify({ webhook_subscription: subscription })
        })
    }
  })

const wanted = { callback_url: callbackUrl, verify_token: "v&t" }

const problem = (field: string, code: string) => ({
  message: expect.any(String),
  error: expect.stringMatching(/^(?:invalid_request|insufficient_scope)$/),
  error_description: expect.any(String),
  errors: [{ resource: "WebhookSubscription", field, code, message: expect.any(String) }]
})

describe("POST /api/v1/webhook_subscription (requirements §4.6)", () => {
  testing(
    "validates the callback with the verify token and answers 201 with the four fields",
    (world) =>
      Effect.gen(function*() {
        const { validations } = yield* Service
        const { post } = yield* subscribing(world)
        yield* TestClock.adjust("1234 millis")
        const response = yield* post(wanted)
        expect(response.status).toBe(201)
        expect(World.json(response)).toEqual({
          id: expect.any(Number),
          callback_url: callbackUrl,
          created_at: "1970-01-01T00:00:01.234Z",
          updated_at: "1970-01-01T00:00:01.234Z"
        })
        expect(validations.map(({ verifyToken }) => Redacted.value(verifyToken))).toEqual(["v&t"])
      })
  )

  testing(
    "one subscription per application (requirements §8): the second is 409 before any request to the callback",
    (world) =>
      Effect.gen(function*() {
        const { validations } = yield* Service
        const { post } = yield* subscribing(world)
        yield* post(wanted)
        const second = yield* post(wanted)
        expect(second.status).toBe(409)
        expect(World.json(second)).toEqual(problem("callback_url", "already_exists"))
        expect(validations).toHaveLength(1)
      })
  )

  testing("callback_url has at most 255 characters (requirements §8)", (world) =>
    Effect.gen(function*() {
      const { post } = yield* subscribing(world)
      const long = (length: number) => `${callbackUrl}?`.padEnd(length, "x")
      const tooLong = yield* post({ ...wanted, callback_url: long(256) })
      expect(tooLong.status).toBe(422)
      expect(World.json(tooLong)).toEqual(problem("callback_url", "too_long"))
      expect((yield* post({ ...wanted, callback_url: long(255) })).status).toBe(201)
    }))

  const html = { contentType: "text/html; charset=\"secret detail\"", body: "secret detail" }
  const failures: ReadonlyArray<readonly [code: string, answer: Callbacks.Answer, message: string]> = [
    [
      "unreachable",
      Callbacks.Answer.Unreachable({ detail: "TLS: the certificate has expired" }),
      "could not be reached: TLS: the certificate has expired"
    ],
    ["forbidden_address", Callbacks.Answer.Forbidden({ detail: "secret detail" }), "is not allowed"],
    ["timeout", Callbacks.Answer.TimedOut({ detail: "secret detail" }), "within 2 seconds"],
    ["wrong_status", answered({ status: 500, body: "secret detail" }), "with status 500"],
    ["wrong_status", answered({ status: 302, ...html }), "with status 302"],
    ["wrong_content_type", answered(html), "as text/html,"],
    ["wrong_content_type", answered({ contentType: "secret detail", body: "" }), "without a media type"],
    ["wrong_content_type", answered({ contentType: `a/${"x".repeat(5000)}`, body: "" }), "without a media type"],
    ["wrong_body", answered({ body: "{\"hub.challenge\":\"secret detail\"}" }), "contains only hub.challenge"]
  ]
  for (const [code, answer, message] of failures) {
    testing(
      `a failed callback validation gets 422 with the code ${code} (requirements §7) and "${message}", without the body of the callback's response`,
      (world) =>
        Effect.gen(function*() {
          const { switches } = yield* Service
          switches.validate = () => Effect.succeed(answer)
          const { get, post } = yield* subscribing(world)
          const response = yield* post(wanted)
          expect(response.status).toBe(422)
          expect(World.json(response)).toEqual(problem("callback_url", code))
          expect(response.body).toContain(message)
          expect(response.body).not.toContain("secret detail")
          expect((yield* get).status).toBe(404)
        })
    )
  }

  testing(
    "a callback may take 2 seconds to answer the validation (requirements §8)",
    (world) =>
      Effect.gen(function*() {
        const { switches } = yield* Service
        const { post } = yield* subscribing(world)
        switches.validate = (validation) => Effect.delay(answers(validation), "2001 millis")
        const late = yield* Effect.fork(post(wanted))
        yield* TestClock.adjust("2 seconds")
        expect(World.json(yield* Fiber.join(late))).toEqual(problem("callback_url", "timeout"))
        switches.validate = (validation) => Effect.delay(answers(validation), "1999 millis")
        const inTime = yield* Effect.fork(post(wanted))
        yield* TestClock.adjust("2 seconds")
        expect((yield* Fiber.join(inTime)).status).toBe(201)
      })
  )

  testing("names all problems of the body together", (world) =>
    Effect.gen(function*() {
      const { post } = yield* subscribing(world)
      const response = yield* post({ callback_url: 7 })
      expect(response.status).toBe(422)
      expect(World.json(response)).toMatchObject({
        errors: [{ field: "callback_url", code: "invalid" }, { field: "verify_token", code: "missing" }]
      })
    }))
})

describe("GET and DELETE /api/v1/webhook_subscription (requirements §4.8, §4.9)", () => {
  testing("GET answers 200 with the same object, 404 if there is none", (world) =>
    Effect.gen(function*() {
      const { get, post } = yield* subscribing(world)
      const none = yield* get
      expect(none.status).toBe(404)
      expect(World.json(none)).toEqual(problem("id", "not_found"))
      const created = yield* post(wanted)
      const shown = yield* get
      expect([shown.status, shown.body]).toEqual([200, created.body])
    }))

  testing("DELETE needs no parameter and answers 204 with no body", (world) =>
    Effect.gen(function*() {
      const { get, post, remove } = yield* subscribing(world)
      yield* post(wanted)
      expect(yield* remove()).toMatchObject({ status: 204, body: "" })
      expect((yield* get).status).toBe(404)
      expect((yield* post(wanted)).status).toBe(201)
    }))

  testing(
    "DELETE accepts an id, and deletion fails with an error stating the reason if it names another one (requirements §7)",
    (world) =>
      Effect.gen(function*() {
        const { get, post, remove } = yield* subscribing(world)
        expect((yield* remove()).status).toBe(404)
        const created = World.json(yield* post(wanted))
        const id = created !== null && typeof created === "object" && "id" in created ? Number(created.id) : 0
        for (const wrong of [`?id=${id + 1}`, "?id=abc", "?id=1e0", "?id=-1"]) {
          const refused = yield* remove(wrong)
          expect([wrong, refused.status]).toEqual([wrong, 404])
          expect(World.json(refused)).toEqual(problem("id", "not_found"))
        }
        expect((yield* get).status).toBe(200)
        expect((yield* remove(`?id=${id}`)).status).toBe(204)
      })
  )

  testing(
    "only an access token of a platform user may use it: 403 for others (requirements §5.8)",
    (world) =>
      Effect.gen(function*() {
        const { get, post, remove } = yield* subscribing(world, world.browser)
        for (const request of [get, post(wanted), remove()]) {
          const response = yield* request
          expect(response.status).toBe(403)
          expect(World.json(response)).toEqual(problem("role", "forbidden"))
        }
        const { validations } = yield* Service
        expect(validations).toHaveLength(0)
      })
  )

  testing(
    "bound to a scope, it answers 403 insufficient_scope that names the scope (RFC 6750 §3.1), before anything else",
    (world) =>
      Effect.gen(function*() {
        const { send, validations } = yield* Service
        const headersWith = (scope: string) =>
          Effect.map(world.tokens({ scope }, world.platformBrowser), ({ access_token }) => World.bearer(access_token))
        const headers = yield* headersWith("read")
        for (const [method, body] of [["GET", ""], ["POST", "{"], ["DELETE", "{"]] as const) {
          const response = yield* send(method, "/api/v1/webhook_subscription", { headers, body })
          expect([method, response.status]).toEqual([method, 403])
          expect(World.json(response)).toMatchObject({
            error: "insufficient_scope",
            error_description: "the scope profile:write is required",
            errors: [{ field: "scope", code: "insufficient_scope" }]
          })
          const challenge = String(response.headers["www-authenticate"])
          expect(challenge).toContain("error=\"insufficient_scope\"")
          expect(challenge).toContain("scope=\"profile:write\"")
        }
        expect(validations).toHaveLength(0)
        const wide = { "content-type": "application/json", ...(yield* headersWith("read profile:write")) }
        const body = JSON.stringify({ webhook_subscription: wanted })
        expect((yield* send("POST", "/api/v1/webhook_subscription", { headers: wide, body })).status).toBe(201)
        expect((yield* send("DELETE", "/api/v1/webhook_subscription", { headers: wide })).status).toBe(204)
      }),
    { policy: { webhookScope: Option.some("profile:write") } }
  )

  testing("401 with a Bearer challenge without a token", () =>
    Effect.gen(function*() {
      const { send } = yield* Service
      for (const method of ["GET", "POST", "DELETE"]) {
        const response = yield* send(method, path)
        expect(response.status).toBe(401)
        expect(response.headers["www-authenticate"]).toMatch(/^Bearer/)
      }
    }))
})

/**
 * What everything that calls callbacks must do: one suite, a function of a layer and of a receiver that can be told
 * what to do. Real sockets and real time, since that is what it is about.
 *
 * ```ts
 * CallbackLaws.suite("my dispatcher", MyDispatcher.layer, myReceiver)
 * ```
 */
import { expect, layer as describeLayer } from "@effect/vitest"
import { type Answer, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { outcomeLaws } from "./internal/outcomeLaws.ts"
import type { Receiver, Scripted } from "./internal/receiver.ts"
import { forAll, type Law, law } from "./Law.ts"

export type { Receiver, Reply, Request, Scripted } from "./internal/receiver.ts"

const secrets = [
  "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
]

const post = (callbackUrl: string, changes: Partial<Post> = {}): Post => ({
  callbackUrl,
  id: "evt_1",
  timestamp: 1_893_456_000,
  body: "{\"comment\":\"é 👩‍👩‍👧 \\n\"}",
  secrets: secrets.map((secret) => Redacted.make(secret)),
  timeout: Duration.seconds(2),
  ...changes
})

/** `base64(hmac-sha256(key, "evt_1.1893456000.<body>"))` of `post` with each of `secrets` (Standard Webhooks). */
const expectedSignatures = [
  "v1,ILUCwCSXg5a5uvkXIpn4Dst3ZxB+EIRzOIN8gecHZKI=",
  "v1,/wNl6f8zhwAF8wWgyLneipkkzWuhpOrR85TwQSAI+ZI="
]

const validation = (callbackUrl: string): Validation => ({
  callbackUrl,
  challenge: "a challenge+/&=?",
  verifyToken: Redacted.make("verify & token"),
  timeout: Duration.seconds(2)
})

const timed = (request: Effect.Effect<Answer>) =>
  Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    const answer = yield* request
    return { answer, tookMs: (yield* Clock.currentTimeMillis) - began }
  })

/** The laws, for a way to start receivers. */
export const laws = (start: Effect.Effect<Receiver, never, Scope.Scope>): ReadonlyArray<Law<Callbacks>> => {
  const scoped = <A, E>(
    check: (callbacks: Callbacks.Service, receiver: Receiver) => Effect.Effect<A, E, Scope.Scope>
  ) =>
    Effect.scoped(Effect.flatMap(Effect.all([Callbacks, start]), ([callbacks, receiver]) => check(callbacks, receiver)))

  return [
    law(
      "a delivery is one POST of exactly the given bytes as JSON, signed once with each secret",
      () =>
        scoped((callbacks, { requests, url }) =>
          Effect.gen(function*() {
            const given = post(`${url}?a=b%20c`)
            expect(yield* callbacks.deliver(given)).toMatchObject({ _tag: "Answered", status: 200 })
            const received = yield* requests
            expect(received).toHaveLength(1)
            const [request] = received
            expect(request).toMatchObject({ method: "POST", body: given.body })
            expect(request?.target).toMatch(/\?a=b%20c$/)
            expect(request?.headers["content-type"]).toMatch(/^application\/json\b/)
            expect(request?.headers["webhook-id"]).toBe("evt_1")
            expect(request?.headers["webhook-timestamp"]).toBe("1893456000")
            const signatures = request?.headers["webhook-signature"]?.split(" ") ?? []
            expect(new Set(signatures)).toEqual(new Set(expectedSignatures))
            expect(signatures).toHaveLength(2)
            expect(JSON.stringify(request)).not.toContain("whsec_")
          })
        )
    ),
    law(
      "the same delivery has the same signature, and another body, id, time or secret another",
      () =>
        scoped((callbacks, { requests, url }) =>
          Effect.gen(function*() {
            const one = { secrets: [Redacted.make(secrets[0] ?? "")] }
            const other = { secrets: [Redacted.make(secrets[1] ?? "")] }
            const changes = [one, one, { ...one, body: "{}" }, { ...one, id: "evt_2" }, { ...one, timestamp: 1 }, other]
            yield* Effect.forEach(changes, (changed) => callbacks.deliver(post(url, changed)))
            const signatures = (yield* requests).map(({ headers }) => headers["webhook-signature"])
            expect(signatures[0]).toBe(signatures[1])
            expect(new Set(signatures).size).toBe(5)
          })
        )
    ),
    law(
      "every status is reported as it is, and redirects are not followed",
      () =>
        scoped((callbacks, { reply, requests, url }) =>
          Effect.gen(function*() {
            const statuses = [200, 201, 204, 301, 302, 303, 307, 308, 400, 401, 404, 410, 429, 500, 503]
            for (const status of statuses) {
              yield* reply({ status, headers: { location: url } })
              expect(yield* callbacks.deliver(post(url))).toMatchObject({ _tag: "Answered", status })
            }
            expect(yield* requests).toHaveLength(statuses.length)
          })
        )
    ),
    law("Retry-After in seconds is reported", () =>
      scoped((callbacks, { reply, url }) =>
        Effect.gen(function*() {
          yield* reply({ status: 503, headers: { "retry-after": "7" } })
          const answer = yield* callbacks.deliver(post(url))
          expect(answer).toMatchObject({ _tag: "Answered", retryAfter: Option.some(Duration.seconds(7)) })
        })
      )),
    law(
      "a receiver that hangs has timed out at the deadline, and delays no other",
      () =>
        scoped((callbacks, hanging) =>
          Effect.gen(function*() {
            const good = yield* start
            yield* hanging.reply("hang")
            const timeout = Duration.seconds(1)
            const [slow, quick] = yield* Effect.all([
              timed(callbacks.deliver(post(hanging.url, { timeout }))),
              timed(Effect.delay(callbacks.deliver(post(good.url)), "50 millis"))
            ], { concurrency: "unbounded" })
            expect(slow.answer._tag).toBe("TimedOut")
            expect(slow.tookMs).toBeGreaterThanOrEqual(900)
            expect(slow.tookMs).toBeLessThan(1900)
            expect(quick.answer).toMatchObject({ _tag: "Answered", status: 200 })
            expect(quick.tookMs).toBeLessThan(900)
          })
        )
    ),
    law(
      "an answer says after how many milliseconds it came",
      () =>
        scoped((callbacks, { reply, url }) =>
          Effect.gen(function*() {
            yield* reply({ status: 200, afterMs: 300 })
            const { answer, tookMs } = yield* timed(callbacks.deliver(post(url)))
            const afterMs = answer._tag === "Answered" ? answer.afterMs : -1
            expect(afterMs).toBeGreaterThanOrEqual(290)
            expect(afterMs).toBeLessThanOrEqual(tookMs + 1)
          })
        )
    ),
    law(
      "a connection that is closed without an answer is unreachable, and not tried again",
      () =>
        scoped((callbacks, { reply, requests, url }) =>
          Effect.gen(function*() {
            yield* reply("close")
            expect((yield* callbacks.deliver(post(url)))._tag).toBe("Unreachable")
            expect((yield* callbacks.validate(validation(url)))._tag).toBe("Unreachable")
            expect(yield* requests).toHaveLength(2)
          })
        )
    ),
    law(
      "of a long answer the beginning is told, at most 200 characters",
      () =>
        scoped((callbacks, { reply, url }) =>
          Effect.gen(function*() {
            yield* reply({ status: 500, body: `begins${"x".repeat(100_000)}` })
            const answer = yield* callbacks.deliver(post(url))
            expect(answer).toMatchObject({ _tag: "Answered", status: 500, body: expect.stringMatching(/^begins/) })
            expect(answer._tag === "Answered" ? answer.body.length : Infinity).toBeLessThanOrEqual(200)
          })
        )
    ),
    law(
      "a validation is one GET with the three hub parameters behind the callback's own query",
      () =>
        scoped((callbacks, { reply, requests, url }) =>
          Effect.gen(function*() {
            const body = "{\"hub.challenge\":\"…\"}"
            yield* reply({ status: 200, headers: { "content-type": "application/json" }, body })
            const answer = yield* callbacks.validate(validation(`${url}?a=b%20c`))
            expect(answer).toMatchObject({ _tag: "Answered", status: 200, contentType: "application/json", body })
            const [request, ...more] = yield* requests
            expect(more).toStrictEqual([])
            expect(request?.method).toBe("GET")
            const [, query = ""] = request?.target.split("?") ?? []
            const parameters = query.split("&").map((parameter) =>
              parameter.split("=").map((text) => decodeURIComponent(text.replaceAll("+", "%20")))
            )
            expect(parameters).toStrictEqual([
              ["a", "b c"],
              ["hub.mode", "subscribe"],
              ["hub.challenge", "a challenge+/&=?"],
              ["hub.verify_token", "verify & token"]
            ])
          })
        )
    ),
    law(
      "whatever the callback URL is, there is an answer and no failure",
      () =>
        Effect.flatMap(Callbacks, (callbacks) =>
          forAll(
            FastCheck.oneof(
              FastCheck.fullUnicodeString(),
              FastCheck.constantFrom(
                "",
                "http://",
                "https://[",
                "http://127.0.0.1:99999/",
                "file:///etc/passwd",
                "javascript:1"
              )
            ),
            (callbackUrl) =>
              Effect.gen(function*() {
                const timeout = Duration.millis(200)
                expect(typeof callbacks.accepts(callbackUrl)).toBe("boolean")
                expect((yield* callbacks.deliver(post(callbackUrl, { timeout })))._tag).not.toBe("Answered")
                expect((yield* callbacks.validate({ ...validation(callbackUrl), timeout }))._tag).not.toBe("Answered")
              }),
            { numRuns: 50 }
          ))
    )
  ]
}

/**
 * Declares the laws as tests of these callbacks, which must be allowed to reach the receivers. With `scripted`, also the
 * law that whatever resolvers and receivers answer, nothing escapes and every delivery ends.
 */
export const suite = <E>(
  name: string,
  callbacks: Layer.Layer<Callbacks, E>,
  receiver: Effect.Effect<Receiver, never, Scope.Scope>,
  scripted?: Scripted
): void =>
  describeLayer(callbacks, { excludeTestServices: true })(name, (it) => {
    for (const { check, name } of laws(receiver)) it.effect(name, () => check)
    if (scripted === undefined) return
    for (const { check, name } of outcomeLaws(receiver, scripted)) it.effect(name, () => check, 120_000)
  })

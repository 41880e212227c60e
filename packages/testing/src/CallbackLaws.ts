/**
 * The laws of every implementation of `Callbacks`. The suite is a function of a layer, and of a receiver whose answers
 * it chooses. It uses real sockets and real time.
 *
 * ```ts
 * describeSuite(CallbackLaws.suite("my dispatcher", MyDispatcher.layer, myReceiver)) // of @startlist/testing/vitest
 * ```
 */
import { type Answer, awaiting, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { has, holds, same } from "./internal/expecting.ts"
import type { Steps } from "./internal/storeLaw.ts"
import * as Suite from "./Suite.ts"

/** Reply of a receiver: an answer after `afterMs`; `"hang"` for no answer; or `"close"` for a closed connection. */
export type Reply = "hang" | "close" | {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly afterMs?: number
}

/** A request as it arrived; header names in lower case. */
export interface Request {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** A real HTTP server that the callbacks can reach, on an address of its own. */
export interface Receiver {
  /** For example `http://127.0.0.1:4711/hook`. */
  readonly url: string
  /** Sets its reply. Initially 200. */
  readonly reply: (reply: Reply) => Effect.Effect<void>
  /** The requests that arrived, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Request>>
}

const secrets = [
  "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
]

const post = (callbackUrl: string, changes: Partial<Post> = {}): Post => ({
  callbackUrl,
  id: "evt_1",
  timestamp: 1_893_456_000,
  body: "{\"comment\":\"é 👩‍👩‍👧 \\n\"}",
  sequence: 2 ** 53 - 1,
  secrets: secrets.map((secret) => Redacted.make(secret)),
  trace: Option.none(),
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
export const laws = (start: Effect.Effect<Receiver, never, Scope.Scope>): ReadonlyArray<Suite.Law<Callbacks>> => {
  const callbackLaw = (
    name: string,
    check: (callbacks: Callbacks.Service, receiver: Receiver) => Steps<unknown, Scope.Scope>
  ): Suite.Law<Callbacks> =>
    Suite.law(name, () =>
      Effect.scoped(Effect.gen(function*() {
        yield* check(yield* Callbacks, yield* start)
      })))

  return [
    callbackLaw(
      "a delivery is one POST of exactly these bytes, signed once with each secret",
      function*(callbacks, { requests, url }) {
        const given = post(`${url}?a=b%20c`)
        has(yield* callbacks.deliver(given), { _tag: "Answered", status: 200 })
        const received = yield* requests
        same(received.length, 1)
        const [request] = received
        has(request, { method: "POST", body: given.body })
        holds(
          request?.target.endsWith("?a=b%20c") === true,
          "the request goes to the query of the callback URL as it is given"
        )
        holds(/^application\/json\b/.test(String(request?.headers["content-type"])), "the body is sent as JSON")
        same(request?.headers["webhook-id"], "evt_1")
        same(request?.headers["webhook-timestamp"], "1893456000")
        same(request?.headers["startlist-sequence"], "9007199254740991")
        const signatures = request?.headers["webhook-signature"]?.split(" ") ?? []
        same(signatures.toSorted(), expectedSignatures.toSorted())
        holds(!JSON.stringify(request).includes("whsec_"), "the request contains no secret in clear")
      }
    ),
    callbackLaw("another body, id, time or secret has another signature", function*(callbacks, { requests, url }) {
      const one = { secrets: [Redacted.make(secrets[0] ?? "")] }
      const other = { secrets: [Redacted.make(secrets[1] ?? "")] }
      const changes = [one, one, { ...one, body: "{}" }, { ...one, id: "evt_2" }, { ...one, timestamp: 1 }, other]
      yield* Effect.forEach(changes, (changed) => callbacks.deliver(post(url, changed)))
      const signatures = (yield* requests).map(({ headers }) => headers["webhook-signature"])
      same(signatures[0], signatures[1])
      same(new Set(signatures).size, 5)
    }),
    callbackLaw("a delivery without a fiber is the same request", function*({ begin, deliver }, { requests, url }) {
      if (begin === undefined) return
      const answers = [yield* deliver(post(url)), yield* awaiting(begin)(post(url))]
      for (const answer of answers) has(answer, { _tag: "Answered", status: 200 })
      const [delivered, begun, ...more] = yield* requests
      same(begun, delivered)
      same(more, [])
    }),
    callbackLaw(
      "every status is reported, and redirects are not followed",
      function*(callbacks, { reply, requests, url }) {
        const statuses = [200, 201, 204, 301, 302, 303, 307, 308, 400, 401, 404, 410, 429, 500, 503]
        for (const status of statuses) {
          yield* reply({ status, headers: { location: url } })
          has(yield* callbacks.deliver(post(url)), { _tag: "Answered", status })
        }
        same((yield* requests).length, statuses.length)
      }
    ),
    callbackLaw("Retry-After in seconds is reported", function*(callbacks, { reply, url }) {
      yield* reply({ status: 503, headers: { "retry-after": "7" } })
      const answer = yield* callbacks.deliver(post(url))
      has(answer, { _tag: "Answered", retryAfter: Option.some(Duration.seconds(7)) })
    }),
    callbackLaw("a receiver that hangs times out, and delays no other", function*(callbacks, hanging) {
      const good = yield* start
      yield* hanging.reply("hang")
      const timeout = Duration.seconds(1)
      const [slow, quick] = yield* Effect.all([
        timed(callbacks.deliver(post(hanging.url, { timeout }))),
        timed(Effect.delay(callbacks.deliver(post(good.url)), "50 millis"))
      ], { concurrency: "unbounded" })
      same(slow.answer._tag, "TimedOut")
      holds(slow.tookMs >= 900, `the receiver has its time: ${slow.tookMs} ms`)
      holds(slow.tookMs < 1900, `the request ends at its deadline: ${slow.tookMs} ms`)
      has(quick.answer, { _tag: "Answered", status: 200 })
      holds(quick.tookMs < 900, `the other one does not wait: ${quick.tookMs} ms`)
    }),
    callbackLaw("an answer says after how many milliseconds it came", function*(callbacks, { reply, url }) {
      yield* reply({ status: 200, afterMs: 300 })
      const { answer, tookMs } = yield* timed(callbacks.deliver(post(url)))
      const afterMs = answer._tag === "Answered" ? answer.afterMs : -1
      holds(afterMs >= 290, `at least 290 ms: ${afterMs}`)
      holds(afterMs <= tookMs + 1, `at most ${tookMs} ms: ${afterMs}`)
    }),
    callbackLaw(
      "a closed connection is unreachable, and not tried again",
      function*(callbacks, { reply, requests, url }) {
        yield* reply("close")
        same((yield* callbacks.deliver(post(url)))._tag, "Unreachable")
        same((yield* callbacks.validate(validation(url)))._tag, "Unreachable")
        same((yield* requests).length, 2)
      }
    ),
    callbackLaw("of a long answer at most 200 characters are reported", function*(callbacks, { reply, url }) {
      yield* reply({ status: 500, body: `begins${"x".repeat(100_000)}` })
      const answer = yield* callbacks.deliver(post(url))
      has(answer, { _tag: "Answered", status: 500 })
      const body = answer._tag === "Answered" ? answer.body : ""
      holds(body.startsWith("begins") && body.length <= 200, `the body is its beginning: ${body}`)
    }),
    callbackLaw(
      "a validation is one GET with the hub parameters behind the own query",
      function*(callbacks, { reply, requests, url }) {
        const body = "{\"hub.challenge\":\"…\"}"
        yield* reply({ status: 200, headers: { "content-type": "application/json" }, body })
        const answer = yield* callbacks.validate(validation(`${url}?a=b%20c`))
        has(answer, { _tag: "Answered", status: 200, contentType: "application/json", body })
        const [request, ...more] = yield* requests
        same(more, [])
        same(request?.method, "GET")
        const [, query = ""] = request?.target.split("?") ?? []
        const parameters = query.split("&").map((parameter) =>
          parameter.split("=").map((text) => decodeURIComponent(text.replaceAll("+", "%20")))
        )
        same(parameters, [
          ["a", "b c"],
          ["hub.mode", "subscribe"],
          ["hub.challenge", "a challenge+/&=?"],
          ["hub.verify_token", "verify & token"]
        ])
      }
    ),
    Suite.law(
      "whatever the callback URL is, there is an answer and no failure",
      () =>
        Effect.flatMap(Callbacks, (callbacks) =>
          Suite.forAll(
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
                holds(Option.isOption(callbacks.problem(callbackUrl)), "the URL is examined")
                const answers = [
                  yield* callbacks.deliver(post(callbackUrl, { timeout })),
                  yield* callbacks.validate({ ...validation(callbackUrl), timeout })
                ]
                holds(answers.every(({ _tag }) => _tag !== "Answered"), `nobody answers at ${callbackUrl}`)
              }),
            { numRuns: 50 }
          ))
    )
  ]
}

/** The laws as tests of these callbacks, which must be allowed to reach the receivers. */
export const suite = <E>(
  name: string,
  callbacks: Layer.Layer<Callbacks, E>,
  receiver: Effect.Effect<Receiver, never, Scope.Scope>
): Suite.Suite => Suite.make(name, callbacks, [{ about: "callbacks", laws: laws(receiver) }])

/** The law of callbacks: whatever resolvers, sockets and receivers do, no error escapes and every delivery ends. */
import { Callbacks } from "@startlist/core/Callbacks"
import * as Memory from "@startlist/core/Memory"
import * as Policy from "@startlist/core/Policy"
import * as Worker from "@startlist/core/Worker"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { holds, same } from "./expecting.ts"
import { make } from "./fixture.ts"
import type { Receiver, Reply, Scripted } from "./receiver.ts"
import { forAll, type Law, law } from "../Law.ts"
import * as TestSecrets from "../TestSecrets.ts"

/** Behaviour of a resolver for a name. Values have any type: an API with callbacks does not check them. */
interface Resolution {
  readonly how: "resolves" | "rejects" | "throws" | "hangs"
  readonly value: unknown
}

const loopback = "127.0.0.1"

const resolution: FastCheck.Arbitrary<Resolution> = FastCheck.record({
  how: FastCheck.constantFrom("resolves", "resolves", "rejects", "throws", "hangs"),
  value: FastCheck.constantFrom<unknown>(
    [loopback],
    [loopback, loopback],
    [],
    undefined,
    null,
    false,
    0,
    "",
    "127.0.0.1",
    [undefined],
    [""],
    [loopback, "no address"],
    [loopback, null],
    ["10.0.0.1"],
    {},
    new Error("an error without a code"),
    Object.assign(new Error("no data"), { code: "ENODATA" })
  )
})

const resolverOf = ({ how, value }: Resolution): Parameters<Scripted["resolving"]>[0] => () => {
  switch (how) {
    case "throws":
      throw value
    case "hangs":
      return new Promise(() => {})
    case "rejects":
      return Promise.reject(value)
    case "resolves": {
      // @ts-expect-error: a resolver that breaks its type
      const addresses: ReadonlyArray<string> = value
      return Promise.resolve(addresses)
    }
  }
}

const start = "HTTP/1.1 200 OK\r\n"

const reply: FastCheck.Arbitrary<Reply> = FastCheck.oneof(
  FastCheck.constantFrom<Reply>("hang", "close"),
  FastCheck.record({
    status: FastCheck.integer({ min: 200, max: 599 }),
    headers: FastCheck.constantFrom<Readonly<Record<string, string>>>(
      {},
      { "retry-after": "-1" },
      { "retry-after": "99999999999999999999" },
      { "retry-after": "Thu, 99 Foo 9999 99:99:99 GMT" },
      { "content-encoding": "gzip", "content-type": "application/json" },
      { location: "\u00ff" }
    ),
    body: FastCheck.string({ maxLength: 50 })
  }),
  FastCheck.record({
    raw: FastCheck.oneof(
      FastCheck.constantFrom(
        start,
        `${start}Content-Length: 5\r\n\r\nab`,
        `${start}Content-Length: -1\r\n\r\n`,
        `${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\na`,
        `${start}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`,
        `${start}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`,
        `${start}\r\n${start}\r\n`,
        `${start}X: ${"x".repeat(20_000)}\r\n\r\n`,
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(20),
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx",
        "HTTP/1.1 999 \r\n\r\n",
        "HTTP/1.1 000 \r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "\u0016\u0003\u0001\u0002\u0000"
      ),
      FastCheck.string({ maxLength: 50 })
    ),
    ends: FastCheck.boolean()
  })
)

const situation = FastCheck.record({
  resolution,
  reply,
  origin: FastCheck.constantFrom("address", "name", "https name")
})

const policy: Policy.Policy.Service = {
  ...Policy.documented,
  callbackTimeout: Duration.millis(300),
  deliveryDelays: [Duration.millis(1)],
  deliveryPoll: Duration.millis(20)
}

const callbackUrlOf = (url: string, origin: string): string => {
  if (origin === "address") return url
  return url.replace("127.0.0.1", "receiver.example").replace("http:", origin === "name" ? "http:" : "https:")
}

/** Delivers one event with a worker of its own. Returns the delivery once it has ended. */
const delivered = (callbackUrl: string) =>
  Effect.gen(function*() {
    const f = yield* make
    const app = yield* f.application()
    yield* f.subscription(app, callbackUrl)
    const event = f.event(1, yield* DateTime.now, { trace: Option.none() })
    const id = yield* Effect.fromNullable((yield* f.deliveryQueue.enqueue(f.outgoing(app, event)))[0])
    yield* Effect.forkScoped(Worker.run)
    return yield* Effect.repeat(Effect.delay(Effect.map(f.deliveries.find(id), Option.getOrThrow), "20 millis"), {
      until: ({ state }) => state !== "pending"
    })
  })

export const outcomeLaws = (
  receivers: Effect.Effect<Receiver, never, Scope.Scope>,
  { escaped, resolving }: Scripted
): ReadonlyArray<Law<never>> => [
  law(
    "no answer of a resolver, socket or receiver escapes, or leaves a delivery or a validation without an outcome",
    () =>
      forAll(FastCheck.array(situation, { minLength: 12, maxLength: 12 }), (situations) =>
        Effect.gen(function*() {
          const before = (yield* escaped).length
          yield* Effect.forEach(
            situations,
            ({ origin, reply, resolution }) =>
              Effect.gen(function*() {
                const receiver = yield* receivers
                yield* receiver.reply(reply)
                const callbackUrl = callbackUrlOf(receiver.url, origin)
                const delivery = yield* delivered(callbackUrl)
                holds(
                  ["delivered", "exhausted"].includes(delivery.state),
                  `the delivery has come to its end: ${delivery.state}`
                )
                const least = delivery.state === "delivered" ? 1 : 2
                holds(delivery.attempts.length >= least, `at least ${least} attempts: ${delivery.attempts.length}`)
                const { validate } = yield* Callbacks
                const verifyToken = Redacted.make("token")
                const timeout = policy.callbackTimeout
                const answer = yield* validate({ callbackUrl, challenge: "a challenge", verifyToken, timeout })
                holds(
                  ["Answered", "TimedOut", "Unreachable", "Forbidden"].includes(answer._tag),
                  `the answer is of a known kind: ${answer._tag}`
                )
              }).pipe(
                Effect.provide([Memory.layer, TestSecrets.layer("outcomes"), resolving(resolverOf(resolution))]),
                Effect.provideService(Policy.Policy, policy),
                Effect.scoped
              ),
            { concurrency: "unbounded", discard: true }
          )
          same((yield* escaped).slice(before), [])
        }), { numRuns: 8 })
  )
]

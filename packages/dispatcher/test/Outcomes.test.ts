/** Whatever resolvers, sockets and receivers do, no error escapes and every delivery ends. */
import { expect, it } from "@effect/vitest"
import { Audit, Callbacks, Memory, Policy, Worker } from "@startlist/core"
import { Dispatcher } from "@startlist/dispatcher"
import { TestSecrets } from "@startlist/testing"
import { make } from "@startlist/testing/internal/fixture"
import { DateTime, Duration, Effect, FastCheck, Option, Redacted } from "effect"
import { loopback, responding, watchProcess } from "./Receivers.ts"

/** Behaviour of a resolver for a name. Values have any type: an API with callbacks does not check them. */
interface Resolution {
  readonly how: "resolves" | "rejects" | "throws" | "hangs"
  readonly value: unknown
}

const receiverAddress = "127.0.0.1"

const resolution: FastCheck.Arbitrary<Resolution> = FastCheck.record({
  how: FastCheck.constantFrom("resolves", "resolves", "rejects", "throws", "hangs"),
  value: FastCheck.constantFrom<unknown>(
    [receiverAddress],
    [receiverAddress, receiverAddress],
    [],
    undefined,
    null,
    false,
    0,
    "",
    "127.0.0.1",
    [undefined],
    [""],
    [receiverAddress, "no address"],
    [receiverAddress, null],
    ["10.0.0.1"],
    {},
    new Error("an error without a code"),
    Object.assign(new Error("no data"), { code: "ENODATA" })
  )
})

const resolverOf = ({ how, value }: Resolution): () => Promise<ReadonlyArray<string>> => () => {
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

/** An answer, none, a closed connection, or `raw` characters as bytes (latin1). */
type Reply = "hang" | "close" | {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
} | { readonly raw: string; readonly ends: boolean }

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

interface Situation {
  readonly resolution: Resolution
  readonly reply: Reply
  readonly origin: string
}

const situation: FastCheck.Arbitrary<Situation> = FastCheck.record({
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
    yield* Effect.forkScoped(Effect.provide(Worker.run, Audit.none))
    return yield* Effect.repeat(Effect.delay(Effect.map(f.deliveries.find(id), Option.getOrThrow), "20 millis"), {
      until: ({ state }) => state !== "pending"
    })
  })

/** A receiver with this reply. */
const replying = (reply: Reply) =>
  responding(({ socket }, response) => {
    if (reply === "hang") return
    if (reply === "close") socket.destroy()
    else if ("status" in reply) response.writeHead(reply.status, reply.headers).end(reply.body)
    else {
      socket.write(reply.raw, "latin1")
      if (reply.ends) socket.end()
    }
  })

const endsWell = ({ origin, reply, resolution }: Situation) =>
  Effect.gen(function*() {
    const { url } = yield* replying(reply)
    const callbackUrl = callbackUrlOf(url, origin)
    const { attempts, state } = yield* delivered(callbackUrl)
    expect(["delivered", "exhausted"]).toContain(state)
    expect(attempts.length).toBeGreaterThanOrEqual(state === "delivered" ? 1 : 2)
    const { validate } = yield* Callbacks.Callbacks
    const verifyToken = Redacted.make("token")
    const timeout = policy.callbackTimeout
    const answer = yield* validate({ callbackUrl, challenge: "a challenge", verifyToken, timeout })
    expect(["Answered", "TimedOut", "Unreachable", "Forbidden"]).toContain(answer._tag)
  }).pipe(
    Effect.provide([
      Memory.layer,
      TestSecrets.layer("outcomes"),
      Dispatcher.layerWith({ allow: loopback, resolve: resolverOf(resolution) })
    ]),
    Effect.provideService(Policy.Policy, policy),
    Effect.scoped
  )

const escaped = watchProcess()

it("no answer of a resolver, socket or receiver escapes, or leaves a delivery or a validation without an outcome", () =>
  FastCheck.assert(
    FastCheck.asyncProperty(
      FastCheck.array(situation, { minLength: 12, maxLength: 12 }),
      async (situations) => {
        await Effect.runPromise(Effect.forEach(situations, endsWell, { concurrency: "unbounded", discard: true }))
        expect(escaped).toEqual([])
      }
    ),
    { numRuns: 8 }
  ))

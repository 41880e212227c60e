/** Test doubles for applications: signed requests, a receiver and a network that fail. */
import { describe, expect, it } from "@effect/vitest"
import { Callbacks } from "@startlist/core"
import { AddressGuard, Dispatcher, Signature } from "@startlist/dispatcher"
import { ApplicationReceiver, Promises, UnreliableNetwork, VirtualTime, WebhookRequest } from "@startlist/testing"
import { Clock, Context, Duration, Effect, Fiber, Layer, Option, Redacted, TestClock } from "effect"
import * as http from "node:http"
import { Webhook } from "standardwebhooks"

const secrets = [1, 2].map((fill) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`)
const timestamp = Math.floor(Date.now() / 1000)
const callbackUrl = "https://planner.example/events?a=b%20c"
const message = { callbackUrl, id: "evt_1", timestamp, body: "{\"comment\":\"é 👩‍👩‍👧 \\n\"}", sequence: 7, secrets }

const post: Callbacks.Post = {
  ...message,
  secrets: secrets.map((secret) => Redacted.make(secret)),
  trace: Option.none(),
  timeout: Duration.seconds(2)
}

interface Seen {
  readonly method: string | undefined
  readonly target: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** A server on loopback, and what it was sent. */
const server = Effect.gen(function*() {
  const seen: Array<Seen> = []
  const listening = http.createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk) => body += chunk).on("end", () => {
      const { connection: _, "content-length": __, host: ___, ...headers } = request.headers
      seen.push({ method: request.method, target: request.url ?? "", headers, body })
      response.end()
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void listening.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => listening.close().closeAllConnections())
  )
  const address = listening.address()
  const port = typeof address === "object" ? address?.port : undefined
  return { seen, url: `http://127.0.0.1:${port}/hook?a=b%20c` }
})

const asSeen = (request: Request): Effect.Effect<Seen> =>
  Effect.map(Effect.promise(() => request.text()), (body) => {
    const { pathname, search } = new URL(request.url)
    return { method: request.method, target: pathname + search, headers: Object.fromEntries(request.headers), body }
  })

const dispatcher = Dispatcher.layerWith({ allow: Option.toArray(AddressGuard.parseBlock("127.0.0.0/8")) })

describe("a request that is made for a test", () => {
  it.scopedLive("is the one that the dispatcher sends", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* server
      const callbacks = yield* Callbacks.Callbacks
      yield* callbacks.deliver({ ...post, callbackUrl: url })
      const asked = { callbackUrl: url, challenge: "a challenge+/&=?", verifyToken: "verify & token" }
      yield* callbacks.validate({
        ...asked,
        verifyToken: Redacted.make(asked.verifyToken),
        timeout: Duration.seconds(2)
      })
      const event = yield* Effect.promise(() => WebhookRequest.event({ ...message, callbackUrl: url }))
      expect(yield* asSeen(event)).toStrictEqual(seen[0])
      expect(yield* asSeen(WebhookRequest.validation(asked))).toStrictEqual(seen[1])
    }).pipe(Effect.provide(dispatcher)))

  it("is verified by the npm package standardwebhooks with each of its secrets", async () => {
    const request = await WebhookRequest.event(message)
    const body = await request.text()
    for (const secret of secrets) {
      expect(new Webhook(secret).verify(body, Object.fromEntries(request.headers))).toEqual(JSON.parse(message.body))
    }
  })

  it("is signed as by the dispatcher, also with secrets that are no BASE64", async () => {
    const odd = ["whsec_my test n1", "whsec_abcde", "whsec_-_-_", ...secrets]
    const expected = Signature.sign(message, odd.map((secret) => Redacted.make(secret)))
    expect(await WebhookRequest.signature({ ...message, secrets: odd })).toBe(expected)
  })
})

const { Fault } = ApplicationReceiver

/** A handler that counts. */
const counting = (answer: (request: Request) => Response = () => new Response("thanks")) => {
  const requests: Array<Request> = []
  const handler = (request: Request) => {
    requests.push(request)
    return Promise.resolve(answer(request))
  }
  return { handler, requests }
}

/** Builds the receiver, and runs a test in virtual time. */
const receiving = <A, E>(
  layer: ReturnType<typeof ApplicationReceiver.layer>,
  test: (
    callbacks: Callbacks.Callbacks.Service,
    receiver: ApplicationReceiver.ApplicationReceiver.Service
  ) => Effect.Effect<A, E>
) =>
  Effect.scoped(
    Effect.flatMap(Layer.build(layer), (context) =>
      test(Context.get(context, Callbacks.Callbacks), Context.get(context, ApplicationReceiver.ApplicationReceiver)))
  ).pipe(
    (whole) =>
      VirtualTime.run(whole, { seed: 1 })
  )

const timed = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.timed(effect), ([took, value]) => ({ took, value }))

describe("the receiver", () => {
  it.effect("gives the handler the request of the service, and the service the answer of the handler", () => {
    const { handler, requests } = counting(() =>
      new Response("x".repeat(5000), { status: 503, headers: { "retry-after": "7", "content-type": "text/plain" } })
    )
    return receiving(ApplicationReceiver.layer(handler), (callbacks, receiver) =>
      Effect.gen(function*() {
        const answer = yield* callbacks.deliver(post)
        expect(answer).toMatchObject({
          _tag: "Answered",
          status: 503,
          contentType: "text/plain",
          body: "x".repeat(200)
        })
        expect(answer).toMatchObject({ retryAfter: Option.some(Duration.seconds(7)) })
        const [request = new Request("about:blank")] = requests
        expect(request.url).toBe(callbackUrl)
        const body = yield* Promises.run(() => request.text())
        new Webhook(secrets[0] ?? "").verify(body, Object.fromEntries(request.headers))
        expect(yield* receiver.received).toMatchObject([{ id: "evt_1", status: 503, body: message.body }])
      }))
  })

  it.effect("twice: the handler gets both, and the service the first answer", () => {
    const { handler, requests } = counting(() => new Response("", { status: requests.length === 1 ? 200 : 500 }))
    return receiving(ApplicationReceiver.layer(handler), (callbacks, receiver) =>
      Effect.gen(function*() {
        yield* receiver.next([Fault.Twice({ by: "20 seconds" })])
        expect(yield* callbacks.deliver(post)).toMatchObject({ status: 200 })
        yield* Effect.sleep("19 seconds")
        expect(requests).toHaveLength(1)
        yield* Effect.sleep("2 seconds")
        expect(requests).toHaveLength(2)
      }))
  })

  it.effect("late: the service sees a timeout, and the handler gets the request nevertheless", () => {
    const { handler, requests } = counting()
    return receiving(ApplicationReceiver.layer(handler), (callbacks, receiver) =>
      Effect.gen(function*() {
        yield* receiver.next([Fault.Late({ by: "20 seconds" }), Fault.Late({ by: "1 second" })])
        const first = yield* timed(callbacks.deliver(post))
        expect([first.value._tag, Duration.toMillis(first.took)]).toEqual(["TimedOut", 2000])
        expect(yield* callbacks.deliver(post)).toMatchObject({ _tag: "Answered", status: 200 })
        expect(requests).toHaveLength(1)
        yield* Effect.sleep("20 seconds")
        expect(requests).toHaveLength(2)
      }))
  })

  it.effect("a lost answer: the handler has worked, and the service sees a timeout", () => {
    const { handler, requests } = counting()
    return receiving(ApplicationReceiver.layer(handler), (callbacks, receiver) =>
      Effect.gen(function*() {
        yield* receiver.next([Fault.AnswerLost()])
        const { took, value } = yield* timed(callbacks.deliver(post))
        expect([value._tag, Duration.toMillis(took), requests.length]).toEqual(["TimedOut", 2000, 1])
      }))
  })

  it.effect("unreachable for a while: neither deliveries nor validations arrive", () => {
    const { handler, requests } = counting()
    const validation = { ...post, challenge: "c", verifyToken: Redacted.make("t") }
    return receiving(ApplicationReceiver.layer(handler), (callbacks, receiver) =>
      Effect.gen(function*() {
        yield* receiver.unreachableFor("1 minute")
        expect((yield* callbacks.deliver(post))._tag).toBe("Unreachable")
        expect((yield* callbacks.validate(validation))._tag).toBe("Unreachable")
        expect(requests).toHaveLength(0)
        yield* Effect.sleep("1 minute")
        expect((yield* callbacks.deliver(post))._tag).toBe("Answered")
        expect((yield* callbacks.validate(validation))._tag).toBe("Answered")
      }))
  })

  it.effect("a handler that fails has answered 500, whether it is made of promises or an effect", () =>
    Effect.gen(function*() {
      const layers = [
        ApplicationReceiver.layer(() => Promise.reject(new Error("broken"))),
        ApplicationReceiver.layerEffect(() => Effect.fail("broken"))
      ]
      for (const layer of layers) {
        const answer = yield* receiving(layer, (callbacks) => callbacks.deliver(post))
        expect(answer).toMatchObject({ _tag: "Answered", status: 500 })
      }
    }))

  it.effect("an effect that takes too long is not waited for", () =>
    receiving(
      ApplicationReceiver.layerEffect(() => Effect.delay(Effect.succeed(new Response("")), "3 seconds")),
      (callbacks, receiver) =>
        Effect.gen(function*() {
          expect((yield* callbacks.deliver(post))._tag).toBe("TimedOut")
          yield* Effect.sleep("2 seconds")
          expect(yield* receiver.received).toMatchObject([{ status: 200 }])
        })
    ))

  it.effect("the same seed gives the same faults, another seed others, and `none` ends them", () => {
    const answers = (seed: number) => {
      const chance = { seed, probability: 0.5, faults: ApplicationReceiver.anyFault }
      return receiving(
        ApplicationReceiver.layer(counting().handler, chance),
        (callbacks, receiver) =>
          Effect.gen(function*() {
            const tags: Array<string> = []
            for (let n = 0; n < 30; n++) tags.push((yield* callbacks.deliver(post))._tag)
            yield* receiver.none
            for (let n = 0; n < 10; n++) expect((yield* callbacks.deliver(post))._tag).toBe("Answered")
            return tags.join(" ")
          })
      )
    }
    return Effect.gen(function*() {
      expect(yield* answers(1)).toBe(yield* answers(1))
      expect(yield* answers(1)).not.toBe(yield* answers(2))
      expect(new Set((yield* answers(1)).split(" "))).toEqual(new Set(["Answered", "TimedOut", "Unreachable"]))
    })
  })
})

describe("the network", () => {
  const { Fault } = UnreliableNetwork
  const url = "https://startlist.example/oauth/token"

  /** A service that answers with the number of requests that it got. */
  const numbering = () => {
    const { handler, requests } = counting(() => new Response(String(requests.length)))
    return { handler, requests }
  }
  const virtually = <A, E>(effect: Effect.Effect<A, E>) => VirtualTime.run(effect, { seed: 1 })
  const text = (answer: Promise<Response>) => answer.then((response) => response.text())

  it.effect("without a fault, the request arrives as it is", () =>
    virtually(Effect.gen(function*() {
      const { handler, requests } = numbering()
      const network = yield* UnreliableNetwork.make(handler)
      const init = { method: "POST", headers: { "idempotency-key": "1" }, body: new URLSearchParams({ a: "é" }) }
      expect(yield* Promises.run(() => text(network.fetch(url, init)))).toBe("1")
      const [request = new Request("about:blank")] = requests
      expect([request.method, request.url, request.headers.get("idempotency-key")]).toEqual(["POST", url, "1"])
      expect(request.headers.get("content-type")).toContain("application/x-www-form-urlencoded")
      expect(yield* Promises.run(() => request.text())).toBe("a=%C3%A9")
    })))

  it.effect("loses requests before the service got them, and answers after it", () =>
    virtually(Effect.gen(function*() {
      const { handler, requests } = numbering()
      const network = yield* UnreliableNetwork.make(handler)
      yield* network.next([Fault.RequestLost(), Fault.AnswerLost()], "/oauth/token")
      expect(yield* Promises.run(() => text(network.fetch("https://startlist.example/other")))).toBe("1")
      for (const handled of [1, 2]) {
        const failed = yield* Promises.run(() => network.fetch(url).then(() => undefined, (error: unknown) => error))
        expect(failed).toBeInstanceOf(TypeError)
        expect(requests).toHaveLength(handled)
      }
      expect(yield* Promises.run(() => text(network.fetch(new Request(url))))).toBe("3")
      expect((yield* network.sent).map(({ fault }) => fault)).toEqual([
        undefined,
        "RequestLost",
        "AnswerLost",
        undefined
      ])
    })))

  it.effect("repeats: the client gets the second answer", () =>
    virtually(Effect.gen(function*() {
      const network = yield* UnreliableNetwork.make(numbering().handler)
      yield* network.always(Fault.Repeated())
      expect(yield* Promises.run(() => text(network.fetch(url)))).toBe("2")
    })))

  it.effect("delays: virtual time passes while the code waits, and requests beside it are not delayed", () =>
    virtually(Effect.gen(function*() {
      const network = yield* UnreliableNetwork.make(numbering().handler)
      const began = yield* Clock.currentTimeMillis
      yield* network.next([Fault.Delayed({ by: "10 seconds" }), undefined, Fault.AnswerDelayed({ by: "5 seconds" })])
      const answers = yield* Promises.run(() => Promise.all([1, 2, 3].map(() => text(network.fetch(url)))))
      expect(answers).toEqual(["3", "1", "2"])
      expect((yield* Clock.currentTimeMillis) - began).toBe(10_000)
    })))

  it.effect("gives up with the client, and the request arrives later nevertheless", () =>
    virtually(Effect.gen(function*() {
      const { handler, requests } = numbering()
      const network = yield* UnreliableNetwork.make(handler)
      yield* network.next([Fault.Delayed({ by: "10 seconds" })])
      const reason = new Error("too slow")
      const failed = yield* Promises.run(() => {
        const controller = new AbortController()
        const answer = network.fetch(url, { signal: controller.signal })
        controller.abort(reason)
        return answer.then(() => undefined, (error: unknown) => error)
      })
      expect(failed).toBe(reason)
      expect(requests).toHaveLength(0)
      yield* Effect.sleep("11 seconds")
      expect(requests).toHaveLength(1)
    })))

  it.effect("works with the test clock, too", () =>
    Effect.gen(function*() {
      const network = yield* UnreliableNetwork.make(numbering().handler)
      yield* network.next([Fault.Delayed({ by: "8 hours" })])
      const waiting = yield* Effect.fork(Promises.run(() => text(network.fetch(url))))
      yield* TestClock.adjust("8 hours")
      expect(yield* Fiber.join(waiting)).toBe("1")
    }))

  it.effect("the same seed gives the same faults", () => {
    const faults = (seed: number) =>
      virtually(Effect.gen(function*() {
        const chance = { seed, probability: 0.5, faults: UnreliableNetwork.anyFault }
        const network = yield* UnreliableNetwork.make(numbering().handler, chance)
        for (let n = 0; n < 30; n++) yield* Promises.run(() => network.fetch(url).then(() => {}, () => {}))
        return (yield* network.sent).map(({ fault }) => fault).join(" ")
      }))
    return Effect.gen(function*() {
      expect(yield* faults(1)).toBe(yield* faults(1))
      expect(yield* faults(1)).not.toBe(yield* faults(2))
    })
  })
})

/** Rules beyond the laws of callbacks, which `packages/testing` checks for `WebCallbacks`, too. */
import { describe, expect, it } from "@effect/vitest"
import { AddressGuard, Signature, WebCallbacks } from "@startlist/dispatcher"
import { Callbacks } from "@startlist/core"
import { Duration, Effect, FastCheck, Option, Redacted } from "effect"
import { createServer, type RequestListener, type Server } from "node:http"

const post = (callbackUrl: string): Callbacks.Post => ({
  callbackUrl,
  id: "evt_1",
  timestamp: 1_893_456_000,
  body: "{}",
  secrets: [],
  sequence: 1,
  trace: Option.some("00-1-2-01"),
  timeout: Duration.seconds(2)
})

const deliver = (
  callbackUrl: string,
  options: WebCallbacks.Options = {},
  changes: Partial<Callbacks.Post> = {}
) =>
  Effect.flatMap(Callbacks.Callbacks, ({ deliver }) => deliver({ ...post(callbackUrl), ...changes })).pipe(
    Effect.provide(WebCallbacks.layerWith(options))
  )

/** A receiver with the responses of a test. Returns its URL. */
const receiver = (respond: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const server = createServer(respond).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  ).pipe(Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}/`
  }))

const loopback = { allow: Option.toArray(AddressGuard.parseBlock("127.0.0.0/8")) }

describe("callbacks by fetch", () => {
  it.effect("an address in the URL that is not public is refused, and nothing is sent", () =>
    Effect.gen(function*() {
      const hosts = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433"]
      for (const host of hosts) expect([host, (yield* deliver(`https://${host}/`))._tag]).toEqual([host, "Forbidden"])
    }))

  it.effect("http is refused, also to names", () =>
    Effect.gen(function*() {
      expect((yield* deliver("http://club.example/"))._tag).toBe("Forbidden")
    }))

  it.scopedLive("a delivery names its trace if the option is set", () =>
    Effect.gen(function*() {
      const url = yield* receiver(({ headers }, response) => void response.end(String(headers["traceparent"])))
      expect(yield* deliver(url, { ...loopback, traceparent: true })).toMatchObject({ body: "00-1-2-01" })
      expect(yield* deliver(url, loopback)).toMatchObject({ body: "undefined" })
    }))

  it.scopedLive("the status decides, even if the body is slow", () =>
    Effect.gen(function*() {
      const url = yield* receiver((_, response) => void response.writeHead(200).write("the beginning"))
      expect(yield* deliver(url, loopback)).toMatchObject({ _tag: "Answered", status: 200, body: "the beginning" })
    }))

  it.scopedLive("the status decides, even if the body is still open at the deadline", () =>
    Effect.gen(function*() {
      const url = yield* receiver((_, response) => void response.writeHead(200).write("the beginning"))
      const answer = yield* deliver(url, loopback, { timeout: Duration.millis(240) })
      expect(answer).toMatchObject({ _tag: "Answered", status: 200, body: "the beginning" })
    }))

  it("signatures are those of the dispatcher", async () => {
    const key = FastCheck.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) =>
      Redacted.make(`whsec_${Buffer.from(bytes).toString("base64")}`)
    )
    const message = FastCheck.record({
      id: FastCheck.string(),
      timestamp: FastCheck.nat(),
      body: FastCheck.string({ unit: "binary" })
    })
    await FastCheck.assert(FastCheck.asyncProperty(message, FastCheck.array(key), async (given, secrets) => {
      expect(await WebCallbacks.sign(given, secrets)).toBe(Signature.sign(given, secrets))
    }))
  })
})

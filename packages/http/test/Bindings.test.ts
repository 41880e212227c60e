import { type HttpApp, HttpServer, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server"
import { EffectHttp, type Http, HttpConfig, Mount, NodeHttp, Refusal, type Router, WebHttp } from "@startlist/http"
import { it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { createServer } from "node:http"
import { describe, expect } from "vitest"
import * as BindingLaws from "./support/BindingLaws.ts"
import { listen } from "./support/listen.ts"

/** Node wants `duplex` of a body that is a stream, and the types of the Web do not have it. */
const streaming = { method: "POST", duplex: "half" }

BindingLaws.suite(
  "the node:http binding",
  (handler, options) => Effect.flatMap(NodeHttp.listener(handler, options), listen)
)

BindingLaws.suite(
  "the Web binding, behind Hono's server",
  (handler, options) =>
    Effect.flatMap(
      WebHttp.handler(handler, options),
      (handle) =>
        listen(getRequestListener((request, { incoming }: HttpBindings | Http2Bindings) =>
          handle(request, { address: incoming.socket.remoteAddress })
        ))
    )
)

/** Runs Effect's server with this app until the scope closes. Returns the port. */
const serveApp = (app: HttpApp.Default<never, Scope.Scope>) =>
  Effect.gen(function*() {
    const server = yield* Layer.build(
      NodeHttpServer.layer(() => NodeHttp.harden(createServer()), { port: 0, host: "127.0.0.1" })
    ).pipe(
      Effect.orDie
    )
    return yield* Effect.gen(function*() {
      yield* HttpServer.serveEffect(app)
      const { address } = yield* HttpServer.HttpServer
      return address._tag === "TcpAddress" ? address.port : yield* Effect.dieMessage("no port")
    }).pipe(Effect.provide(server))
  })

BindingLaws.suite(
  "the Effect binding, behind Effect's server",
  (handler, options) => Effect.flatMap(EffectHttp.app(handler, options), serveApp)
)

const webHandler = (...made: Parameters<typeof WebHttp.handler>) =>
  Effect.provide(WebHttp.handler(...made), HttpConfig.layerLocal)

const effectApp = (...made: Parameters<typeof EffectHttp.app>) =>
  Effect.provide(EffectHttp.app(...made), HttpConfig.layerLocal)

describe("a body that other middleware has read is refused, and the reason is logged", () => {
  const logging = () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return { logged, layer: Logger.replace(Logger.defaultLogger, logger) }
  }
  const why = [expect.stringContaining("was read before")]

  it.live("by the Web binding", () =>
    Effect.gen(function*() {
      const { layer, logged } = logging()
      const handle = yield* Effect.provide(webHandler(BindingLaws.echo), layer)
      const request = new Request("http://club.example/", { method: "POST", body: "a=b" })
      yield* Effect.promise(() => request.text())
      expect((yield* Effect.promise(() => handle(request))).status).toBe(500)
      expect(logged).toEqual(why)
    }))

  it.scopedLive("by the Effect binding", () =>
    Effect.gen(function*() {
      const { layer, logged } = logging()
      const app = yield* effectApp(BindingLaws.echo)
      const port = yield* serveApp(
        HttpServerRequest.HttpServerRequest.pipe(
          Effect.flatMap(({ text }) => Effect.orDie(text)),
          Effect.zipRight(app),
          Effect.provide(layer)
        )
      )
      expect((yield* BindingLaws.send(port, "/", { method: "POST", body: "a=b" })).status).toBe(500)
      expect(logged).toEqual(why)
    }))
})

describe("a body that breaks off gets 408, and no endpoint gets its beginning", () => {
  const served: Array<string> = []
  const handler: Http.Handler = ({ path }) => Effect.sync(() => BindingLaws.ok(String(served.push(path))))
  const breakingOff = () =>
    new Request("http://club.example/", {
      ...streaming,
      body: new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("a=")),
        pull: (controller) => controller.error(new Error("the client has disconnected"))
      }, { highWaterMark: 0 })
    })
  const bindings: Readonly<Record<string, Effect.Effect<Response>>> = {
    "the Web binding": Effect.flatMap(
      webHandler(handler),
      (handle) => Effect.promise(() => handle(breakingOff()))
    ),
    "the Effect binding": Effect.flatten(effectApp(handler)).pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, HttpServerRequest.fromWeb(breakingOff())),
      Effect.scoped,
      Effect.map((response) => HttpServerResponse.toWeb(response))
    )
  }
  for (const [name, answer] of Object.entries(bindings)) {
    it.live(`by ${name}`, () =>
      Effect.gen(function*() {
        expect([(yield* answer).status, served]).toEqual([408, []])
      }))
  }
})

describe("the Web binding reads the head of a request before its body", () => {
  const named = (count: number) => Array.from({ length: count }, (_, i) => [`a${i}`, ""] as const)
  const cases = [
    ["a header of one value that came twice", [["content-type", "a/b, a/b"]], 400, "@startlist/http/Repeated"],
    ["more than a hundred headers", named(101), 431, "@startlist/http/TooManyHeaders"],
    ["a length that is never read", [["content-length", "1048577"]], 413, "@startlist/http/TooLarge"]
  ] as const

  for (const [what, headers, status, refusal] of cases) {
    it.live(`${what} is refused without waiting for a body`, () =>
      Effect.gen(function*() {
        let pulls = 0
        const body = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 })
        const handle = yield* webHandler(BindingLaws.answering(() => Effect.succeed(BindingLaws.ok("served"))))
        const request = new Request("http://club.example/", {
          ...streaming,
          headers: headers.map(([name, value]) => [name, value]),
          body
        })
        const answer = yield* Effect.promise(() => handle(request))
        expect([answer.status, yield* Effect.promise(() => answer.text())]).toEqual([status, refusal])
        expect([pulls, request.bodyUsed]).toEqual([0, false])
      }))
  }

  for (
    const [what, method, path, status] of [
      ["a path that nobody serves", "POST", "/nowhere", 404],
      ["a path outside of the mount", "POST", "/elsewhere/oauth/token", 404],
      ["a method that nobody serves", "PUT", "/connect/oauth/token", 405]
    ] as const
  ) {
    it.live(`${what} is refused without waiting for a body`, () =>
      Effect.gen(function*() {
        let pulls = 0
        const body = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 })
        const refuse: Router.Refuse = (_, refusal) => ({ ...Refusal.describe(refusal), body: "" })
        const route = {
          path: "/oauth/token",
          methods: { POST: () => Effect.succeed(BindingLaws.ok("served")) },
          refuse
        }
        const mounted = yield* Effect.provide(
          Mount.make([Effect.succeed([route])], { prefix: "/connect" }),
          HttpConfig.layerLocal
        )
        const handle = yield* webHandler(mounted)
        const request = new Request(`http://club.example${path}`, { ...streaming, method, body })
        expect((yield* Effect.promise(() => handle(request))).status).toBe(status)
        expect([pulls, request.bodyUsed]).toEqual([0, false])
      }))
  }

  it.live("a request that may have a body is read, and waits for it", () =>
    Effect.gen(function*() {
      const handle = yield* webHandler(BindingLaws.echo)
      const body = new ReadableStream({
        pull: (controller) => {
          controller.enqueue(new TextEncoder().encode("a=b"))
          controller.close()
        }
      }, { highWaterMark: 0 })
      const request = new Request("http://club.example/", { ...streaming, body })
      const answer = yield* Effect.promise(() => handle(request))
      expect(yield* Effect.promise(() => answer.json())).toMatchObject({ body: "a=b" })
    }))
})

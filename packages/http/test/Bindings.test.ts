import { type HttpApp, HttpServer, HttpServerRequest } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server"
import { EffectHttp, NodeHttp, WebHttp } from "@startlist/http"
import { it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { createServer } from "node:http"
import { describe, expect } from "vitest"
import * as BindingLaws from "./support/BindingLaws.ts"
import { listen } from "./support/listen.ts"

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

/** Effect's server with this app, until the scope ends; answers the port. */
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

describe("a body that somebody else has read before is refused, and the log says why", () => {
  const logging = () => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => void logged.push(String(message)))
    return { logged, layer: Logger.replace(Logger.defaultLogger, logger) }
  }
  const why = [expect.stringContaining("was read before")]

  it.live("by the Web binding", () =>
    Effect.gen(function*() {
      const { layer, logged } = logging()
      const handle = yield* Effect.provide(WebHttp.handler(BindingLaws.echo), layer)
      const request = new Request("http://club.example/", { method: "POST", body: "a=b" })
      yield* Effect.promise(() => request.text())
      expect((yield* Effect.promise(() => handle(request))).status).toBe(500)
      expect(logged).toEqual(why)
    }))

  it.scopedLive("by the Effect binding", () =>
    Effect.gen(function*() {
      const { layer, logged } = logging()
      const app = yield* EffectHttp.app(BindingLaws.echo)
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

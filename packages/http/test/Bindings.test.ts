import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server"
import { EffectHttp, NodeHttp, WebHttp } from "@startlist/http"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
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

BindingLaws.suite("the Effect binding, behind Effect's server", (handler, options) =>
  Effect.gen(function*() {
    const server = yield* Layer.build(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })).pipe(
      Effect.orDie
    )
    return yield* Effect.gen(function*() {
      yield* HttpServer.serveEffect(yield* EffectHttp.app(handler, options))
      const { address } = yield* HttpServer.HttpServer
      return address._tag === "TcpAddress" ? address.port : yield* Effect.dieMessage("no port")
    }).pipe(Effect.provide(server))
  }))

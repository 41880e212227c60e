/** A guarded route of an embedder responds like `/api/v1/athlete`, in every binding, over real sockets. */
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { getRequestListener } from "@hono/node-server"
import { it } from "@effect/vitest"
import { type Grant, OAuth, Store } from "@startlist/core"
import { EffectHttp, FailureLimit, Guard, HttpConfig, NodeHttp, WebHttp } from "@startlist/http"
import { Effect, Layer, Logger, Schema, type Scope } from "effect"
import { createServer } from "node:http"
import { describe, expect, expectTypeOf } from "vitest"
import { type Answer, raw, send } from "./support/BindingLaws.ts"
import { listen } from "./support/listen.ts"
import { layer, Service } from "../../pages/test/support/Service.ts"
import { bearer, make as makeWorld } from "../../pages/test/support/World.ts"

const requirement: Guard.Requirement = {
  resource: `${HttpConfig.local.authUrl}/api/v1/athlete`,
  scopes: ["profile:read", "read"],
  roles: ["athlete"]
}

const shown = ({ applicationId, role, scope, userId }: Grant.BearerAccess) => ({ applicationId, role, scope, userId })

class Api extends HttpApi.make("api").add(
  HttpApiGroup.make("results").add(
    HttpApiEndpoint.get("list", "/results").addSuccess(Schema.Struct({
      applicationId: Schema.Number,
      role: Schema.String,
      scope: Schema.Array(Schema.String),
      userId: Schema.Number
    }))
  )
) {}

const results = HttpApiBuilder.group(
  Api,
  "results",
  (handlers) => handlers.handle("list", () => EffectHttp.guard(requirement, (access) => Effect.succeed(shown(access))))
)

type Serve = Effect.Effect<number, never, OAuth.OAuth | FailureLimit.FailureLimit | Scope.Scope>

const bindings: Readonly<Record<string, Serve>> = {
  "node:http": Effect.flatMap(NodeHttp.guard, (guard) => {
    const guarded = guard(requirement, (_request, response, access) => {
      expectTypeOf(access).toEqualTypeOf<Grant.BearerAccess>()
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(shown(access)))
    })
    return listen((request, response) => void guarded(request, response))
  }),
  "Web": Effect.flatMap(
    WebHttp.guard,
    (guard) => listen(getRequestListener(guard(requirement, (_request, access) => Response.json(shown(access)))))
  ),
  "Effect": Effect.gen(function*() {
    const services = yield* Effect.context<OAuth.OAuth | FailureLimit.FailureLimit>()
    const server = yield* Layer.build(
      HttpApiBuilder.serve().pipe(
        Layer.provide(HttpApiBuilder.api(Api)),
        Layer.provide(results),
        Layer.provide(Layer.succeedContext(services)),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
      )
    ).pipe(Effect.orDie)
    const { address } = yield* Effect.provide(HttpServer.HttpServer, server)
    return address._tag === "TcpAddress" ? address.port : yield* Effect.dieMessage("no port")
  })
}

/** The parts of a response that depend on the guard. */
const essence = ({ body, headers, status }: Answer) => ({
  status,
  body: JSON.parse(body),
  challenge: headers["www-authenticate"],
  type: headers["content-type"],
  cache: headers["cache-control"]
})

describe.each(["node:http", "Effect"])("a guarded route in the %s binding", (name) => {
  it.scopedLive("refuses two Authorization headers with 400", () =>
    Effect.gen(function*() {
      const world = yield* makeWorld
      const port = yield* bindings[name] ?? Effect.dieMessage("no binding")
      const { access_token } = yield* world.tokens({ scope: "read" })
      const header = `Authorization: Bearer ${access_token}\r\n`
      const get = `GET /results HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}`
      expect(yield* raw(port, `${get}\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
      expect(yield* raw(port, `${get}${header}\r\n`)).toMatch(/^HTTP\/1\.1 400 .*repeated/s)
    }).pipe(Effect.provide(layer())))
})

for (const [name, serve] of Object.entries(bindings)) {
  describe(`a guarded route in the ${name} binding`, () => {
    it.scopedLive("accepts tokens that meet the requirement; other requests get the responses of /api/v1/athlete", () =>
      Effect.gen(function*() {
        const world = yield* makeWorld
        const service = yield* Service
        const port = yield* serve
        const ask = (headers: Record<string, string>) => Effect.map(send(port, "/results", { headers }), essence)
        const athlete = (headers: Record<string, string>) =>
          Effect.map(service.send("GET", "/api/v1/athlete", { headers }), ({ body, headers, status }) => ({
            status,
            body: JSON.parse(String(body)),
            challenge: headers["www-authenticate"],
            type: headers["content-type"],
            cache: headers["cache-control"]
          }))

        const reader = yield* world.tokens({ scope: "profile:read" })
        expect(yield* ask(bearer(reader.access_token))).toMatchObject({
          status: 200,
          body: {
            applicationId: Number(world.client.client_id),
            role: "athlete",
            scope: ["profile:read"],
            userId: world.athlete.id
          }
        })

        for (const headers of [{}, bearer("unknown"), { authorization: "Basic eDp5" }, { authorization: "Bearer" }]) {
          const answer = yield* ask(headers)
          expect(answer.status).toBe(401)
          expect(answer).toEqual(yield* athlete(headers))
        }

        const platform = yield* world.tokens({ scope: "read" }, world.platformBrowser)
        const wrongRole = yield* ask(bearer(platform.access_token))
        expect(wrongRole).toMatchObject({
          status: 403,
          challenge: undefined,
          body: { errors: [{ code: "forbidden" }] }
        })

        const writer = yield* world.tokens({ scope: "write" })
        const theirs = yield* athlete(bearer(writer.access_token))
        const ours = yield* ask(bearer(writer.access_token))
        for (const { body, challenge, status } of [ours, theirs]) {
          expect([status, body.errors[0].code]).toEqual([403, "insufficient_scope"])
          expect(challenge).toMatch(
            /^Bearer realm="startlist", error="insufficient_scope", error_description="[^"]+", /
          )
          expect(challenge).toContain("scope=\"profile:read\"")
        }

        service.switches.storeIsDown = true
        const unavailable = yield* ask(bearer(writer.access_token))
        expect(unavailable).toEqual(yield* athlete(bearer(writer.access_token)))
        expect(unavailable.status).toBe(503)
      }).pipe(Effect.provide(Layer.merge(layer(), Logger.remove(Logger.defaultLogger)))))
  })
}

it.effect("a JSON log has the reason why a token could not be checked", () => {
  const lines: Array<string> = []
  const logger = Logger.map(Logger.jsonLogger, (line) => void lines.push(line))
  const broken = Layer.mock(OAuth.OAuth, {
    authenticate: () => Effect.fail(new Store.StoreError({ cause: new Error("connection refused") }))
  })
  return Effect.gen(function*() {
    const check = yield* Guard.make
    yield* check({ headers: bearer("sl_at_1_1_some") })
    expect(lines).toEqual([expect.stringContaining("connection refused")])
  }).pipe(
    Effect.provide(Layer.mergeAll(broken, FailureLimit.layerMemory, Logger.replace(Logger.defaultLogger, logger)))
  )
})

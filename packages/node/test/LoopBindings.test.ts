/** The whole loop against each binding, at the root and below a path. */
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server"
import {
  Applications,
  Audit,
  Deliveries,
  Memory,
  Registration,
  Registrations,
  Services,
  User,
  Worker
} from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import {
  EffectHttp,
  FailureLimit,
  type Http,
  HttpConfig,
  Mount,
  NodeHttp,
  NodeSecrets,
  Protocol,
  WebHttp
} from "@startlist/http"
import { Pages, Sessions } from "@startlist/pages"
import { Effect, Layer, Option, Redacted, Runtime, type Scope } from "effect"
import { createServer } from "node:http"
import { TestUsers } from "@startlist/testing"
import { TestAccounts } from "@startlist/test-support/TestAccounts"
import * as EmbeddedServer from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import { LoopServer } from "@startlist/test-support/LoopServer"

/** A bound socket, whose address is known, and a function that serves a handler on it. */
interface Bound {
  readonly origin: string
  readonly serve: (handler: Http.Handler) => Effect.Effect<void, never, HttpConfig.HttpConfig | Scope.Scope>
}

const listening = Effect.acquireRelease(
  Effect.promise(EmbeddedServer.listen),
  ({ close }) => Effect.promise(close)
)

const bindings: Readonly<Record<string, Effect.Effect<Bound, never, Scope.Scope>>> = {
  "node:http": Effect.map(listening, ({ origin, serve }) => ({
    origin,
    serve: (handler) => Effect.map(NodeHttp.listener(handler), serve)
  })),
  "Web": Effect.map(listening, ({ origin, serve }) => ({
    origin,
    serve: (handler) =>
      Effect.map(WebHttp.handler(handler), (handle) =>
        serve(
          getRequestListener((request, { incoming }: HttpBindings | Http2Bindings) =>
            handle(request, { address: incoming.socket.remoteAddress })
          )
        ))
  })),
  "Effect": Effect.gen(function*() {
    const server = yield* NodeHttpServer.make(createServer, { port: 0, host: "127.0.0.1" }).pipe(Effect.orDie)
    const { address } = server
    if (address._tag !== "TcpAddress") return yield* Effect.dieMessage("no port")
    return {
      origin: `http://127.0.0.1:${address.port}`,
      serve: (handler) =>
        Effect.flatMap(EffectHttp.app(handler), (app) =>
          HttpServer.serveEffect(app).pipe(
            Effect.provideService(HttpServer.HttpServer, server),
            Effect.asVoid
          ))
    }
  })
}

const services = Worker.layer.pipe(
  Layer.provideMerge(Services.layer),
  Layer.provideMerge(TestAccounts.layer),
  Layer.provideMerge(TestUsers.layer),
  Layer.provideMerge(
    Layer.mergeAll(Audit.none, Memory.layer, EmbeddedServer.callbacks, NodeSecrets.layerDrawn, FailureLimit.layerMemory)
  )
)

let people = 0

const make = (binding: Effect.Effect<Bound, never, Scope.Scope>, path: string) =>
  Effect.gen(function*() {
    const { origin, serve } = yield* binding
    const url = origin + path
    const site = { ...HttpConfig.local, authUrl: url, baseUrl: url }
    yield* Mount.make([Protocol.routes, Pages.routes, Pages.signIn], { notFound: Pages.notFound }).pipe(
      Effect.flatMap(serve),
      Effect.provide(Sessions.layer),
      Effect.provideService(HttpConfig.HttpConfig, site)
    )
    const accounts = yield* TestAccounts
    const applications = yield* Applications.Applications
    const registrations = yield* Registrations.Registrations
    const deliveries = yield* Deliveries.Deliveries
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    return LoopServer.of({
      url,
      createUser: async (role) => {
        const email = `${role}-${++people}@example.test`
        const { id } = await run(accounts.create(role, email))
        return { id, email, password: `password of ${email}`, first_name: "Ada", last_name: "Lovelace" }
      },
      createApplication: async (owner) => {
        const settings = { name: "Race Day", redirectUris: [], requirePkce: false }
        const created = await run(applications.create(User.UserId.make(owner.id), settings))
        return { client_id: created.application.id, client_secret: Redacted.value(created.secret) }
      },
      createRegistration: async ({ athlete_id, organizer_id, platform_id = "" }) => {
        const registration = await run(registrations.create({
          parties: {
            athleteId: User.UserId.make(athlete_id),
            organizerId: Option.map(Option.fromNullable(organizer_id), (id) => User.UserId.make(id)),
            clubId: Option.none(),
            platformUserId: Option.none()
          },
          updates: { ...Registration.emptyUpdates, platform_id }
        }))
        return registration.id
      },
      changeRegistration: async (id, updates) => {
        await run(registrations.change(Registration.RegistrationId.make(id), updates))
        return 200
      },
      deliveryStates: async ({ client_id }) => {
        const applicationId = Option.some(ApplicationId.make(client_id))
        const filter = { applicationId, state: Option.none(), after: Option.none(), limit: 100 }
        return (await run(deliveries.list(filter))).map(({ state }) => state)
      }
    })
  })

for (const [name, binding] of Object.entries(bindings)) {
  for (const path of ["", "/connect"]) {
    Loop.suite(
      `the loop with the ${name} binding${path === "" ? "" : ` below ${path}`}`,
      Layer.provide(Layer.scoped(LoopServer, make(binding, path)), services)
    )
  }
}

import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { expect, layer as testLayer } from "@effect/vitest"
import { Applications, Deliveries, Registration, Registrations, User } from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import { Context, Effect, Layer, Option, Redacted, Runtime } from "effect"
import { createServer } from "node:http"
import { callbacks } from "@startlist/test-support/EmbeddedServer"
import * as Loop from "@startlist/test-support/Loop"
import { LoopServer } from "@startlist/test-support/LoopServer"
import * as Server from "../src/Server.ts"
import * as Users from "../src/Users.ts"

let people = 0

const server = Layer.scoped(
  LoopServer,
  Effect.gen(function*() {
    const http = yield* NodeHttpServer.make(createServer, { port: 0, host: "127.0.0.1" })
    if (http.address._tag !== "TcpAddress") return yield* Effect.dieMessage("no port")
    const origin = `http://127.0.0.1:${http.address.port}`
    const services = yield* Layer.build(Server.layer(origin)).pipe(
      Effect.provideService(HttpServer.HttpServer, http)
    )
    const users = yield* Users.Users
    const applications = Context.get(services, Applications.Applications)
    const registrations = Context.get(services, Registrations.Registrations)
    const deliveries = Context.get(services, Deliveries.Deliveries)
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    return LoopServer.of({
      url: `${origin}/connect`,
      createUser: async (role) => {
        const email = `${role}-${++people}@example.test`
        const { id } = users.add({ role, email, firstName: "Ada", lastName: "Lovelace" }, "a password")
        return { id, email, password: "a password", first_name: "Ada", last_name: "Lovelace" }
      },
      createApplication: async ({ id }) => {
        const settings = { name: "Race Day", redirectUris: [], requirePkce: false }
        const { application, secret } = await run(applications.create(User.UserId.make(id), settings))
        return { client_id: application.id, client_secret: Redacted.value(secret) }
      },
      createRegistration: async ({ athlete_id, organizer_id, platform_id = "" }) => {
        const parties = {
          athleteId: User.UserId.make(athlete_id),
          organizerId: Option.map(Option.fromNullable(organizer_id), (id) => User.UserId.make(id)),
          clubId: Option.none(),
          platformUserId: Option.none()
        }
        const updates = { ...Registration.emptyUpdates, platform_id }
        return (await run(registrations.create({ parties, updates }))).id
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
).pipe(Layer.provide([Users.layer, callbacks, NodeHttpServer.layerContext]), Layer.orDie)

Loop.suite("the loop inside an Effect server", server)

testLayer(server, { excludeTestServices: true })("beside Startlist, the Effect server", (it) => {
  it.effect("has its own page, and guards its own API with the answers of Startlist's", () =>
    Effect.flatMap(LoopServer, ({ url }) =>
      Effect.promise(async () => {
        const get = (path: string, headers: HeadersInit = {}) => fetch(new URL(path, url), { headers })
        expect(await (await get("/")).text()).toBe("The club's own page.\n")
        for (const headers of [{}, { authorization: "Bearer unknown" }]) {
          const [ours, theirs] = await Promise.all([get("/results", headers), get("/connect/api/v1/athlete", headers)])
          expect(ours.status).toBe(401)
          expect(ours.headers.get("www-authenticate")).toMatch(/^Bearer realm="startlist", .*scope="read"$/)
          expect(await ours.json()).toEqual(await theirs.json())
        }
      })))

  it.effect("does not read a form of any size", () =>
    Effect.flatMap(LoopServer, ({ url }) =>
      Effect.promise(async () => {
        const body = new URLSearchParams({ email: "x".repeat(1_000_000), password: "", return_to: "/" })
        // The connection may end before the answer is read.
        const answered = fetch(new URL("/sign-in", url), { method: "POST", body })
        expect(await answered.then(({ status }) => status, () => 400)).toBe(400)
      })))
})

/** A program that uses the installed packages. The test compiles and runs it in its own project. */
import { Applications, Audit, Memory, OAuth, Services, User, Worker } from "@startlist/core"
import { Dispatcher } from "@startlist/dispatcher"
import { FailureLimit, HttpConfig, Mount, NodeHttp, NodeSecrets, Protocol } from "@startlist/http"
import { Authentication, Pages } from "@startlist/pages"
import { Embedded, Seal, Users } from "@startlist/postgres"
import { Effect, Layer, Option, Redacted } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const authentication = Layer.succeed(Authentication.Authentication, {
  identify: () => Effect.succeedNone,
  signInUrl: () => "/sign-in",
  signOutUrl: "/sign-out"
})

const owner: User.User = {
  id: User.UserId.make(1),
  role: "platform",
  email: "a@b.test",
  firstName: "",
  lastName: ""
}

const users = Layer.succeed(User.UserStore, {
  find: (id) => Effect.succeed(id === owner.id ? Option.some(owner) : Option.none())
})

const inMemory = Services.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Audit.none, Memory.layer, users, Dispatcher.layer, NodeSecrets.layerDrawn))
)

const refreshes = Effect.gen(function*() {
  const applications = yield* Applications.Applications
  const oauth = yield* OAuth.OAuth
  const redirectUri = "http://localhost/callback"
  const { application, secret } = yield* applications.create(owner.id, {
    name: "Race Day",
    redirectUris: [redirectUri],
    requirePkce: false
  })
  const code = yield* oauth.consent({
    application,
    redirectUri,
    scope: ["read"],
    state: Option.none(),
    role: Option.none(),
    challenge: Option.none()
  }, owner)
  const client = { id: application.id, secret }
  const first = yield* oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none() })
  const second = yield* oauth.refresh({ client, token: first.refreshToken })
  const access = yield* oauth.authenticate(second.accessToken)
  return access.userId === owner.id
})

const answers = Effect.gen(function*() {
  yield* Effect.forkScoped(Worker.run)
  const handler = yield* Mount.make([Protocol.routes, Pages.routes], { notFound: Pages.notFound })
  const server = NodeHttp.harden(createServer(yield* NodeHttp.listener(handler)))
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close())
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/oauth/token`, { method: "POST" }))
  yield* Effect.promise(() => response.arrayBuffer())
  return response.status
})

const keeps = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "startlist-consumer-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  )
  const key = Redacted.make(Buffer.alloc(32, 1).toString("base64"))
  const stores = Embedded.layerWith({ folder }).pipe(Layer.provide(Seal.layerWith({ key })))
  const secrets = NodeSecrets.layerWith({ key })
  return yield* Effect.provide(
    Effect.flatMap(
      Users.Users,
      (users) => users.insert({ role: "athlete", email: "ada@b.test", firstName: "Ada", lastName: "L" })
    ),
    Users.layer.pipe(Layer.provide(stores), Layer.merge(secrets))
  )
})

const program = Effect.gen(function*() {
  const refreshed = yield* Effect.provide(refreshes, inMemory)
  const status = yield* Effect.provide(
    Effect.scoped(answers),
    Layer.mergeAll(FailureLimit.layerMemory, HttpConfig.layerLocal, authentication).pipe(Layer.provideMerge(inMemory))
  )
  const { email } = yield* Effect.scoped(keeps)
  return { refreshed, status, email }
})

console.log(JSON.stringify(await Effect.runPromise(program)))

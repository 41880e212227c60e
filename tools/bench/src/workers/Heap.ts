/** Refreshes grants in memory, and reports the size of the heap. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Applications from "@startlist/core/Applications"
import * as Audit from "@startlist/core/Audit"
import { Callbacks } from "@startlist/core/Callbacks"
import * as Memory from "@startlist/core/Memory"
import * as OAuth from "@startlist/core/OAuth"
import * as Services from "@startlist/core/Services"
import { type User, UserId, UserStore } from "@startlist/core/User"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import { Clock, Effect, Layer, Option, Runtime } from "effect"
import * as Child from "../Child.ts"
import { lifetimes, scope } from "../Protocol.ts"

const users = 1000

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const userOf = (id: number): User => ({
  id: UserId.make(id),
  role: id === 1 ? "platform" : "athlete",
  email: `${id}@example.test`,
  firstName: "Ada",
  lastName: "Runner"
})

const redirectUri = "http://localhost/callback"

const program = Effect.gen(function*() {
  const oauth = yield* OAuth.OAuth
  const applications = yield* Applications.Applications
  const settings = { name: "Benchmark", redirectUris: [], requirePkce: false }
  const { application, secret } = yield* applications.create(UserId.make(1), settings)
  const client = { id: application.id, secret }
  const none = Option.none()
  const tokens = yield* Effect.forEach(Array.from({ length: users }).keys(), (index) =>
    Effect.gen(function*() {
      const asked = { application, redirectUri, scope: [scope], state: none, role: none, challenge: none }
      const code = yield* oauth.consent(asked, userOf(index + 1))
      const { refreshToken } = yield* oauth.exchange({ client, code, redirectUri: none, verifier: none })
      return refreshToken
    }))
  let next = 0
  const refresh = Effect.gen(function*() {
    const index = next++ % users
    const token = tokens[index]
    if (token !== undefined) tokens[index] = (yield* oauth.refresh({ client, token })).refreshToken
  })
  // Each grant is refreshed every eight hours, when its access token expires.
  const hours = () => Math.floor(next / users) * lifetimes.access * 1000
  const real = Clock.make()
  const clock: Clock.Clock = Object.create(real, {
    unsafeCurrentTimeMillis: { value: () => real.unsafeCurrentTimeMillis() + hours() }
  })
  const run = Runtime.runPromise(yield* Effect.runtime<never>())
  Child.answer(async ({ refreshes }: { readonly refreshes: number }) => {
    await run(Effect.withClock(Effect.repeatN(refresh, refreshes - 1), clock))
    collectGarbage()
    return { megabytes: process.memoryUsage().heapUsed / 1e6 }
  })
  Child.ready({})
  return yield* Effect.never
})

const callbacks = Layer.succeed(Callbacks, {
  problem: () => Option.some("invalid"),
  deliver: () => Effect.dieMessage("this program does not deliver events"),
  validate: () => Effect.dieMessage("this program does not validate callbacks")
})
const people = Layer.succeed(UserStore, { find: (id) => Effect.succeedSome(userOf(id)) })
const layer = Services.layer.pipe(
  Layer.provide(Layer.mergeAll(Audit.none, Memory.layer, people, callbacks, NodeSecrets.layerDrawn))
)

Effect.runFork(Effect.tapErrorCause(Effect.provide(program, layer), Effect.logError))

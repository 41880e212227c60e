import { it } from "@effect/vitest"
import { Applications, Audit, Memory, OAuth, Services } from "@startlist/core"
import { ScriptedCallbacks, TestSecrets, TestUsers, VirtualTime } from "@startlist/testing"
import { Duration, Effect, Layer, Option, Redacted, Schema, TestClock } from "effect"
import { expect } from "vitest"
import * as TokenKeeper from "../src/TokenKeeper.ts"

/** The whole service: the real rules, no network, no database, no waiting. */
const layer = Services.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Audit.none, Memory.layer, TestUsers.layer, TestSecrets.layer("test"), ScriptedCallbacks.layer)
  )
)

/** A user has authorised the application. */
const connect = Effect.gen(function*() {
  const users = yield* TestUsers.TestUsers
  const applications = yield* Applications.Applications
  const oauth = yield* OAuth.OAuth
  const owner = yield* users.add({ role: "platform", email: "paul@club.example", firstName: "", lastName: "" })
  const settings = { name: "Race Planner", redirectUris: ["https://planner.example/back"], requirePkce: false }
  const { application, secret } = yield* applications.create(owner.id, settings)
  const query = { client_id: String(application.id), redirect_uri: settings.redirectUris[0] ?? "", scope: "read" }
  const asked = `https://startlist.example/oauth/authorize?${new URLSearchParams({ ...query, response_type: "code" })}`
  const code = Redacted.make(new URL(yield* TestUsers.consent(owner, asked)).searchParams.get("code") ?? "")
  const client = { id: application.id, secret }
  const tokens = yield* oauth.exchange({ client, code, redirectUri: Option.none(), verifier: Option.none() })
  return { client, oauth, tokens }
})

/** Pauses between two uses, in seconds: from none to 89 days. */
const Pauses = Schema.Array(Schema.Int.pipe(Schema.between(0, 89 * 86_400))).pipe(Schema.maxItems(8))

it.effect.prop(
  "whatever the pauses, the application has a good access token",
  { pauses: Pauses },
  ({ pauses }) =>
    Effect.gen(function*() {
      const { client, oauth, tokens } = yield* connect
      const keeper = yield* TokenKeeper.make(client, tokens)
      for (const pause of pauses) {
        yield* TestClock.adjust(Duration.seconds(pause))
        const access = yield* oauth.authenticate(yield* keeper.accessToken)
        expect(access.applicationId).toBe(client.id)
      }
    }).pipe(Effect.provide(layer)),
  { fastCheck: { numRuns: 30 } }
)

it.effect.prop(
  "several parallel callers with an expired token all get a valid one, in every interleaving",
  { seed: Schema.NonNegativeInt },
  ({ seed }) =>
    Effect.gen(function*() {
      const { client, oauth, tokens } = yield* connect
      const keeper = yield* TokenKeeper.make(client, tokens)
      const { interleaved } = yield* VirtualTime.VirtualTime
      const asking = Effect.all(Array.from({ length: 4 }, () => keeper.accessToken), { concurrency: "unbounded" })
      const given = yield* Effect.delay(interleaved(asking), "8 hours")
      for (const token of given) yield* oauth.authenticate(token)
      expect(new Set(given.map(Redacted.value)).size).toBe(1)
    }).pipe(Effect.provide(layer), (program) => VirtualTime.run(program, { seed })),
  { fastCheck: { numRuns: 60 } }
)

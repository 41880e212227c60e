/**
 * Changes the status of registrations, each with its own athlete, whose events go to a number of subscriptions.
 * Arguments: the database, the number of callers, the number of subscriptions, and optionally `insert`: only inserts
 * the same rows.
 */
import { randomBytes } from "node:crypto"
import * as Audit from "@startlist/core/Audit"
import { Callbacks } from "@startlist/core/Callbacks"
import { RegistrationId } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import * as Services from "@startlist/core/Services"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as Users from "@startlist/postgres/Users"
import { Effect, Layer, Option, Redacted, Runtime } from "effect"
import * as Pg from "pg"
import * as Child from "../Child.ts"
import { type Effort, makeStopwatch, type Measurement } from "../Measurement.ts"

const [, , url = "", callers = "", subscriptions = "", kind] = process.argv

/** Runs callers, each of which calls repeatedly. */
const measureWith = (call: (caller: number) => Promise<unknown>) => async (effort: Effort): Promise<Measurement> => {
  const { ended, result } = makeStopwatch(effort)
  await Promise.all(Array.from({ length: Number(callers) }, async (_, caller) => {
    for (let more = true; more;) {
      const began = performance.now()
      await call(caller)
      more = ended(began)
    }
  }))
  return result()
}

const noCallbacks = Layer.succeed(Callbacks, {
  problem: () => Option.some("invalid"),
  deliver: () => Effect.dieMessage("this program does not deliver events"),
  validate: () => Effect.dieMessage("this program does not validate callbacks")
})
const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })

let changes = 0

const change = Effect.gen(function*() {
  const registrations = yield* Registrations
  const run = Runtime.runPromise(yield* Effect.runtime<never>())
  Child.answer(
    measureWith((caller) =>
      run(registrations.change(RegistrationId.make(caller + 1), { comment: `change ${++changes}` }))
    )
  )
  Child.ready({})
  return yield* Effect.never
})

/** Inserts the deliveries of an event, without lookups and locks. */
const insert = `
INSERT INTO startlist_deliveries
  (application_id, subscription_id, event_id, aspect_type, object_type, object_id, updates, event_time, state, head, due_at)
SELECT i, i, $1, 'u', 'r', $2::bigint, $3::json, $4::bigint, 'p', false, $4::bigint
FROM generate_series(1, ${Number(subscriptions)}) AS i`

const insertBarely = (): void => {
  const pool = new Pg.Pool({ connectionString: url, max: 10 })
  Child.answer(measureWith((caller) => {
    const updates = ["", "", "", "", [], `change ${++changes}`]
    const id = `evt_${randomBytes(32).toString("base64url")}`
    return pool.query({ name: "insert", text: insert, values: [id, caller + 1, JSON.stringify(updates), Date.now()] })
  }))
  Child.ready({})
}

if (kind === "insert") insertBarely()
else {
  const stores = Users.layer.pipe(
    Layer.provideMerge(Postgres.layer({ url: Redacted.make(url) })),
    Layer.provide(seal)
  )
  Effect.runFork(Effect.tapErrorCause(
    Effect.provide(
      change,
      Services.layer.pipe(Layer.provide(Layer.mergeAll(Audit.none, stores, NodeSecrets.layerDrawn, noCallbacks)))
    ),
    Effect.logError
  ))
}

/** Startlist's worker with its stores and its dispatcher. Arguments: the database or a folder; the callback. */
import { randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { ApplicationStore } from "@startlist/core/Application"
import * as Audit from "@startlist/core/Audit"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { emptyUpdates } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import { Secrets } from "@startlist/core/Secrets"
import * as Services from "@startlist/core/Services"
import { SubscriptionStore } from "@startlist/core/Subscription"
import * as Worker from "@startlist/core/Worker"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import * as Embedded from "@startlist/postgres/Embedded"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import * as Users from "@startlist/postgres/Users"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, Redacted, Runtime } from "effect"
import { scope } from "../Protocol.ts"
import { serve, subscriptions } from "./Delivering.ts"

const [, , where = "", callbackUrl = ""] = process.argv

/** Inserts an athlete who has granted one application per subscription, all with the same callback. */
const prepare = Effect.gen(function*() {
  const users = yield* Users.Users
  const applications = yield* ApplicationStore
  const secrets = yield* Secrets
  const subscribed = yield* SubscriptionStore
  const now = yield* DateTime.now
  const athlete = yield* users.insert({ role: "athlete", email: "ada@example.test", firstName: "", lastName: "" })
  for (let made = 0; made < subscriptions; made++) {
    const { id: applicationId } = yield* applications.insert({
      name: "Benchmark",
      redirectUris: [],
      requirePkce: false,
      ownerId: athlete.id,
      secrets: [],
      createdAt: now
    }, yield* secrets.makeSigning)
    yield* subscribed.insert({ applicationId, callbackUrl, createdAt: now, updatedAt: now })
  }
  const consent = JSON.stringify({ role: "athlete", scope: [scope], epoch: 1, at: 0 })
  yield* (yield* SqlClient.SqlClient).unsafe(`INSERT INTO startlist_grants
      (application_id, user_id, active, consent, access, generation, version)
    SELECT id, ${athlete.id}, true, '${consent}', '', 0, 1 FROM startlist_applications`)
  return athlete.id
})

const program = Effect.gen(function*() {
  const athleteId = yield* prepare
  const registrations = yield* Registrations
  const queue = yield* DeliveryQueue
  const store = yield* DeliveryStore
  const parties = { athleteId, organizerId: Option.none(), clubId: Option.none(), platformUserId: Option.none() }

  /** A status change of a new registration: one event, and a delivery for each subscription. */
  const change = Effect.flatMap(
    registrations.create({ parties, updates: emptyUpdates }),
    ({ id }) => registrations.change(id, { registration_status: "validated", comment: "The document was accepted." })
  )
  const save = (count: number) =>
    Effect.forEach(Array.from({ length: count / subscriptions }), () => change, { concurrency: 8, discard: true })

  const deliver = (count: number) =>
    Effect.gen(function*() {
      const done = yield* Deferred.make<void>()
      let recorded = 0
      const counting = DeliveryQueue.of({
        ...queue,
        settle: (settlements) =>
          Effect.tap(queue.settle(settlements), (ids) => {
            // A failed attempt is also recorded, but is not the last one.
            const delivered = new Set(
              settlements.flatMap(({ delivery }) => delivery.state === "delivered" ? [delivery.id] : [])
            )
            recorded += ids.filter((id) => delivered.has(id)).length
            return recorded === count ? Deferred.succeed(done, undefined) : Effect.void
          })
      })
      const pending = store.list({
        applicationId: Option.none(),
        state: Option.some("pending"),
        after: Option.none(),
        limit: 1
      })
      // If the machine pauses, a save may be recorded although its response is too late to be counted.
      const allRecorded = Effect.repeat(Effect.delay(pending, "1 second"), { until: (waiting) => waiting.length === 0 })
      const began = performance.now()
      const worker = yield* Effect.forkDaemon(Effect.provideService(Worker.run, DeliveryQueue, counting))
      yield* Effect.raceAll([Deferred.await(done), allRecorded])
      const millis = performance.now() - began
      yield* Fiber.interrupt(worker)
      if ((yield* pending).length > 0) return yield* Effect.dieMessage("not all were delivered")
      return { millis }
    })

  const run = Runtime.runPromise(
    yield* Effect.runtime<Effect.Effect.Context<ReturnType<typeof save> | ReturnType<typeof deliver>>>()
  )
  serve((count) => run(save(count)), (count) => run(deliver(count)))
  return yield* Effect.never
})

const stores: Layer.Layer<Postgres.Provided, unknown, Seal.Seal> = where.startsWith("postgres:")
  ? Postgres.layer({ url: Redacted.make(where) })
  : Embedded.layerWith({ folder: where })
const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })
const loopback = Option.toArray(parseBlock("127.0.0.0/8"))

Effect.runFork(Effect.tapErrorCause(
  Effect.provide(
    program,
    Services.layer.pipe(
      Layer.provideMerge(Layer.mergeAll(
        Audit.none,
        Users.layer.pipe(Layer.provideMerge(stores), Layer.provide(seal)),
        NodeSecrets.layerDrawn,
        Dispatcher.layerWith({ allow: loopback })
      ))
    )
  ),
  Effect.logError
))

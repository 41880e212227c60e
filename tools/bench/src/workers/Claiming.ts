/**
 * Uses the queue of deliveries without sending requests. Arguments: the database; `claim` claims a batch and returns it
 * to the end of the queue, whose length does not change; `list` reads the newest page of an application.
 */
import { randomBytes } from "node:crypto"
import { ApplicationId } from "@startlist/core/Application"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import * as Policy from "@startlist/core/Policy"
import * as Postgres from "@startlist/postgres/Postgres"
import * as Seal from "@startlist/postgres/Seal"
import { DateTime, Effect, Layer, Option, Redacted, Runtime } from "effect"
import * as Child from "../Child.ts"
import { type Effort, makeStopwatch } from "../Measurement.ts"
import { subscriptions } from "./Delivering.ts"

const [, , url = "", what = ""] = process.argv
const { deliveryConcurrency, deliveryLease, deliveryPerSubscription } = Policy.documented

const program = Effect.gen(function*() {
  const queue = yield* DeliveryQueue
  const store = yield* DeliveryStore
  const run = Runtime.runPromise(yield* Effect.runtime<never>())

  const claim = Effect.gen(function*() {
    const now = yield* DateTime.now
    const claimed = yield* queue.claim({
      now,
      leaseEnds: DateTime.addDuration(now, deliveryLease),
      token: randomBytes(32).toString("base64url"),
      limit: deliveryConcurrency,
      perSubscription: deliveryPerSubscription,
      allowances: new Map()
    })
    const settled = yield* queue.settle(
      claimed.map(({ delivery, token }) => ({ token, delivery: { ...delivery, dueAt: now } }))
    )
    if (settled.length === 0) return yield* Effect.dieMessage("nothing was claimed")
    return settled.length
  })

  const list = Effect.suspend(() =>
    Effect.map(
      store.list({
        applicationId: Option.some(ApplicationId.make(1 + Math.floor(Math.random() * subscriptions))),
        state: Option.none(),
        after: Option.none(),
        limit: 50
      }),
      () => 1
    )
  )

  Child.answer(async (effort: Effort) => {
    const { ended, result } = makeStopwatch(effort)
    for (let more = true; more;) {
      const began = performance.now()
      more = ended(began, await run(what === "claim" ? claim : list))
    }
    return result()
  })
  Child.ready({})
  return yield* Effect.never
})

const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })

Effect.runFork(Effect.tapErrorCause(
  Effect.provide(
    program,
    Postgres.layer({ url: Redacted.make(url) }).pipe(Layer.provide(seal))
  ),
  Effect.logError
))

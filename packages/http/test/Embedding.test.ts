import { expect, it } from "@effect/vitest"
import { Applications, Audit, Deliveries, Memory, Policy, Subscriptions } from "@startlist/core"
import { Embedding } from "@startlist/http"
import { ScriptedCallbacks, TestSecrets, TestUsers, VirtualTime } from "@startlist/testing"
import { DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"

const layer = (options: Embedding.Options) =>
  Embedding.layer(options).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Audit.none, Memory.layer, TestUsers.layer, ScriptedCallbacks.layer, TestSecrets.layer("embedding"))
    ),
    Layer.provide(Layer.succeed(Policy.Policy, { ...Policy.documented, deliveryRetention: Duration.hours(1) }))
  )

const platformUser = { email: "paul@club.example", role: "platform", firstName: "Paul", lastName: "Durand" } as const

/** Sends an event in a server with these options. Returns the state of the delivery after a minute, and after hours. */
const stateOfDelivery = (options: Embedding.Options) =>
  Effect.gen(function*() {
    const applications = yield* Applications.Applications
    const deliveries = yield* Deliveries.Deliveries
    const owner = yield* Effect.flatMap(TestUsers.TestUsers, (users) => users.add(platformUser))
    const { application } = yield* applications.create(owner.id, {
      name: "Race Planner",
      redirectUris: ["https://app.test/back"],
      requirePkce: false
    })
    const now = yield* DateTime.now
    const access = {
      applicationId: application.id,
      userId: owner.id,
      role: owner.role,
      scope: [],
      createdAt: now,
      expiresAt: DateTime.addDuration(now, "8 hours")
    }
    yield* Effect.flatMap(
      Subscriptions.Subscriptions,
      (subscriptions) =>
        subscriptions.create(access, { callbackUrl: "https://app.test/events", verifyToken: Redacted.make("v") })
    )
    yield* deliveries.sendTest(application.id)
    const state = Effect.map(
      deliveries.list({ applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 10 }),
      ([delivery]) => delivery?.state
    )
    yield* Effect.sleep("1 minute")
    const first = yield* state
    yield* Effect.sleep("3 hours")
    return [first, yield* state]
  }).pipe(Effect.provide(layer(options)), (effect) => VirtualTime.run(effect, { seed: 1 }))

it.effect("delivers events and removes them after their retention", () =>
  Effect.map(stateOfDelivery({}), (states) => expect(states).toEqual(["delivered", undefined])))

it.effect("can leave deliveries, or their removal, to other processes", () =>
  Effect.gen(function*() {
    expect(yield* stateOfDelivery({ worker: false })).toEqual(["pending", "pending"])
    expect(yield* stateOfDelivery({ retention: false })).toEqual(["delivered", "delivered"])
  }))

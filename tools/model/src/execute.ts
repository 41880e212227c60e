/** Carries out the operations of a program. */
import type { Audit } from "@startlist/core/Audit"
import type { Callbacks } from "@startlist/core/Callbacks"
import * as Retention from "@startlist/core/Retention"
import type { Secrets } from "@startlist/core/Secrets"
import type { Services, Stores } from "@startlist/core/Services"
import type { UserStore } from "@startlist/core/User"
import * as Worker from "@startlist/core/Worker"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { HistoryEntry } from "./HistoryEntry.ts"
import type * as Operation from "./Operation.ts"
import { Behaviour, ScriptedCallbacks } from "@startlist/testing/ScriptedCallbacks"
import type { TestUsers } from "@startlist/testing/TestUsers"
import * as VirtualTime from "@startlist/testing/VirtualTime"
import { perform } from "./perform.ts"
import { observed } from "./performed.ts"
import { createApplication, createUser } from "./performEvents.ts"
import { choose, type ProgramFixture } from "./programFixture.ts"

type Everything = Audit | Stores | UserStore | TestUsers | Services | Callbacks | ScriptedCallbacks | Secrets

type Executed = Effect.Effect<ReadonlyArray<HistoryEntry>, never, Everything | VirtualTime.VirtualTime>

export const execute = (fixture: ProgramFixture, operation: Operation.Operation): Executed => {
  const silently = <R>(effect: Effect.Effect<unknown, never, R>) => Effect.as(effect, [])
  switch (operation._tag) {
    case "Wait":
      return silently(Effect.sleep(Duration.seconds(operation.seconds)))
    case "Purge":
      return Effect.map(purge(fixture), (entry) => [entry])
    case "Parallel": {
      const prepared = operation.operations.map((one) => execute(fixture, one))
      return Effect.map(Effect.all(prepared, { concurrency: "unbounded" }), (entries) => entries.flat())
    }
    case "Work":
      return silently(work(fixture, operation.seconds, operation.killed))
    case "CreateUser":
      return silently(createUser(fixture, operation.role))
    case "CreateApplication":
      return silently(Effect.orDie(addApplication(fixture)))
    case "Receive":
      return silently(receive(fixture, operation))
    default:
      return request(fixture, operation)
  }
}

/** Performs the requests of an operation, and remembers their answers. */
export const request = (fixture: ProgramFixture, operation: Operation.Request) =>
  Effect.map(
    Effect.forEach(perform(fixture, operation), (prepared) =>
      Effect.map(observed(prepared), ({ entry, learn }) => {
        learn()
        // A client that was authenticated before its application was deleted sees that its grant was revoked.
        const isEnd = entry._tag === "Ended" && entry.result === "ok"
        return isEnd ? [{ ...entry, _tag: "AllRevoked" as const }, entry] : [entry]
      })),
    (entries) => entries.flat()
  )

/** An application with three receivers. */
export const addApplication = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const callbackUrl = yield* createApplication(fixture)
    const callbacks = yield* ScriptedCallbacks
    yield* callbacks.always(`${callbackUrl}/wrong`, Behaviour.Say({ body: "{\"hub.challenge\":\"wrong\"}" }))
    yield* callbacks.always(`${callbackUrl}/hanging`, Behaviour.Hang())
  })

/** A worker on a node of its own. */
export const work = (fixture: ProgramFixture, seconds: number, isKilled: boolean) =>
  Effect.gen(function*() {
    const time = yield* VirtualTime.VirtualTime
    const node = yield* time.startNode("worker")
    const worker = yield* Effect.forkDaemon(time.on(node)(Worker.run))
    yield* Effect.sleep(Duration.seconds(seconds))
    if (isKilled) {
      fixture.isCalm = false
      yield* time.kill(node)
    } else {
      yield* Fiber.interrupt(worker)
    }
  })

const purge = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const at = (yield* Clock.currentTimeMillis) / 1000
    yield* Effect.orDie(Retention.purge)
    const endedBy = (at - 30 * 86_400) * 1000
    const deliveries: Record<number, Array<number>> = {}
    const places = new Map<number, number>()
    for (const { endedAt, subscriptionId } of fixture.deliveries) {
      const place = places.get(subscriptionId) ?? 0
      places.set(subscriptionId, place + 1)
      if (!Option.exists(endedAt, (ended) => ended.epochMillis <= endedBy)) continue
      const subscription = fixture.subscriptions.indexOf(subscriptionId)
      deliveries[subscription] = [...(deliveries[subscription] ?? []), place]
    }
    return { _tag: "Purged" as const, at, result: "ok", made: -1, deliveries }
  })

const behaviours: Readonly<Record<Operation.Of<"Receive">["behaviours"][number], Behaviour>> = {
  comply: Behaviour.Comply({}),
  slow: Behaviour.Comply({ afterMs: 1900 }),
  fail: Behaviour.Reject({ status: 500 }),
  "retry-after": Behaviour.Reject({ status: 503, retryAfter: 3600 }),
  hang: Behaviour.Hang()
}

const receive = (fixture: ProgramFixture, operation: Operation.Of<"Receive">) => {
  const application = choose(fixture.applications, operation.application)
  if (application === undefined) return Effect.void
  const next = operation.behaviours.map((name) => behaviours[name])
  return Effect.flatMap(
    ScriptedCallbacks,
    (callbacks) => callbacks.next(`${application.value.callbackUrl}/right`, next)
  )
}

/** Performs what is done to a whole application, and tells whether its events must wait (law 14). */
import { Applications } from "@startlist/core/Applications"
import { ApplicationStore } from "@startlist/core/Application"
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { SubscriptionStore } from "@startlist/core/Subscription"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Operation from "../Operation.ts"
import { nothing, observed, type Performed } from "./performed.ts"
import { choose, type Client, type ProgramFixture } from "./programFixture.ts"

export const setState = (
  fixture: ProgramFixture,
  { application, state }: typeof Operation.SetState.Type
): Performed => {
  const chosen = choose(fixture.applications, application)
  if (chosen === undefined) return nothing
  const set = Effect.flatMap(
    Applications,
    ({ restore, suspend }) => state === "suspended" ? suspend(chosen.value.id) : restore(chosen.value.id)
  )
  return observed(set, () => ({ _tag: "StateSet", application: chosen.index, state }))
}

export const revokeAll = (fixture: ProgramFixture, { application }: typeof Operation.RevokeAll.Type): Performed => {
  const chosen = choose(fixture.applications, application)
  if (chosen === undefined) return nothing
  const revoke = Effect.flatMap(Applications, (service) => service.revokeAll(chosen.value.id))
  return observed(revoke, () => ({ _tag: "AllRevoked", application: chosen.index }))
}

export const setPaused = (
  fixture: ProgramFixture,
  { application, paused }: typeof Operation.SetPaused.Type
): Performed => {
  const chosen = choose(fixture.applications, application)
  if (chosen === undefined) return nothing
  const set = Effect.flatMap(Subscriptions, ({ pause, resume }) => (paused ? pause : resume)(chosen.value.id))
  return observed(set, () => ({ _tag: "PauseSet", application: chosen.index, paused }))
}

/** The applications whose events wait now. */
export const held = (fixture: ProgramFixture): Effect.Effect<ReadonlyArray<Client>, StoreError, Stores> =>
  Effect.filter(fixture.applications, ({ id }) =>
    Effect.gen(function*() {
      const application = yield* Effect.flatMap(ApplicationStore, ({ find }) => find(id))
      const subscription = yield* Effect.flatMap(SubscriptionStore, ({ findByApplication }) => findByApplication(id))
      return Option.exists(application, ({ state }) => state !== "active") ||
        Option.exists(subscription, ({ paused }) => paused)
    }))

/** Lets all applications go on. */
export const release = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const { restore } = yield* Applications
    const { resume } = yield* Subscriptions
    for (const { id } of fixture.applications) {
      yield* restore(id)
      yield* Effect.catchTag(resume(id), "SubscriptionNotFound", () => Effect.void)
    }
  })

/** Whether an operation may change what waits. */
export const changesWaiting = (operation: Operation.Operation): boolean =>
  operation._tag === "Parallel"
    ? operation.operations.some(changesWaiting)
    : operation._tag === "SetState" || operation._tag === "SetPaused" || operation._tag === "Subscribe" ||
      operation._tag === "Unsubscribe"

/** Performs operations on a whole application, and undoes them at the end. */
import { Applications } from "@startlist/core/Applications"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import type * as Operation from "./Operation.ts"
import { prepare, type Prepared } from "./performed.ts"
import { choose, type ProgramFixture } from "./programFixture.ts"

type ApplicationOperation =
  | Operation.Of<"SetState">
  | Operation.Of<"RevokeAll">
  | Operation.Of<"End">
  | Operation.Of<"SetPaused">

export const perform = (fixture: ProgramFixture, operation: ApplicationOperation): Prepared | undefined => {
  const chosen = choose(fixture.applications, operation.application)
  if (chosen === undefined) return undefined
  const { index: application, value: { id } } = chosen
  switch (operation._tag) {
    case "SetState": {
      const { state } = operation
      const set = Effect.flatMap(Applications, ({ restore, suspend }) => (state === "active" ? restore : suspend)(id))
      return prepare({ _tag: "StateSet", application, state }, set)
    }
    case "RevokeAll":
      return prepare(
        { _tag: "AllRevoked", application },
        Effect.flatMap(Applications, ({ revokeAll }) => revokeAll(id))
      )
    case "End":
      fixture.ended.add(application)
      return prepare({ _tag: "Ended", application }, Effect.flatMap(Applications, ({ end }) => end(id)))
    case "SetPaused": {
      const { paused } = operation
      const set = Effect.flatMap(Subscriptions, ({ pause, resume }) => (paused ? pause : resume)(id, "operator"))
      return prepare({ _tag: "PauseSet", application, paused }, set)
    }
  }
}

/** Restores all applications and resumes all subscriptions. */
export const release = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const { restore } = yield* Applications
    const { resume } = yield* Subscriptions
    for (const { id } of fixture.applications) {
      yield* Effect.catchTag(restore(id), "@startlist/core/ApplicationNotFound", () => Effect.void)
      yield* Effect.catchTags(resume(id, "operator"), {
        "@startlist/core/PausedByOperator": Effect.die,
        "@startlist/core/SubscriptionNotFound": () => Effect.void
      })
    }
  })

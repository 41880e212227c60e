/** A scene: records, operations on them, and everything that finds return. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { at, type Fixture } from "./fixture.ts"

export type Run = Effect.Effect<unknown, unknown>

export interface Scene {
  /** By name. Values differ in every field between two `n`. Saves return nothing. */
  readonly operations: Readonly<Record<string, (by: Fixture, n: number, version?: number) => Run>>
  /** Everything that a handle can see, by name. */
  readonly parts: (by: Fixture) => Readonly<Record<string, Run>>
  /** Makes the claims again: a claim skips what another operation has locked. */
  readonly claimAgain?: Run
  /**
   * Claims and settles until nothing is left. Returns the object and the number of each claim. Other scenes have no
   * deliveries that are due before those of other laws.
   */
  readonly rest?: (by: Fixture) => Run
}

/** The same scene after some of its operations. */
export const after =
  (makeScene: (f: Fixture) => Effect.Effect<Scene, unknown>, ...names: ReadonlyArray<string>) => (f: Fixture) =>
    Effect.tap(
      makeScene(f),
      ({ operations }) =>
        Effect.forEach(names, (name) => operations[name]?.(f, 1) ?? Effect.dieMessage(`no operation "${name}"`))
    )

/** A subscribed application, and the operations of its subscription. */
export const subscribed = (f: Fixture) =>
  Effect.map(f.subscribed, ({ app, subscription }) => {
    const operations = {
      // Circumstances of other operations. Nothing but claims depends on them.
      "a suspension": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.applications.save({ ...app, state: "suspended", version })),
      "a restoration": (by: Fixture, _: number, version = 3) =>
        Effect.asVoid(by.applications.save({ ...app, version })),
      "the end of the application": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.applications.save({ ...app, state: "ended", secrets: [], redirectUris: [], version })),
      "a pause": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.subscriptions.save({ ...subscription, paused: true, version })),
      "a resumption": (by: Fixture, _: number, version = 3) =>
        Effect.asVoid(by.subscriptions.save({ ...subscription, paused: false, version })),
      "a removal of a subscription": (by: Fixture, n: number) => by.subscriptions.remove(subscription.id, at(n)),
      "an insertion of a subscription": (by: Fixture, n: number) =>
        Effect.map(by.subscription(app, `https://${n}.example.test`), ({ id }) => id !== subscription.id)
    }
    const parts = (by: Fixture) => ({
      subscription: Effect.map(by.subscriptions.findByApplication(app.id), (found) => [
        found,
        Option.map(found, ({ id }) => id === subscription.id)
      ]),
      deliveries: by.listed(app)
    })
    return { app, operations, parts, subscription }
  })

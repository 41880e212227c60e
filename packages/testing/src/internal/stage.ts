/** Comparable scenes: the same operations on new records, by one handle or two. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Rec from "effect/Record"
import { plain, same } from "./expecting.ts"
import { type Fixture, make } from "./fixture.ts"
import type { Scene } from "./recordScenes.ts"

export type MakeScene = (f: Fixture) => Effect.Effect<Scene, unknown>

/** Two handles over one storage, or the same one twice. */
export type Handles = readonly [Fixture, Fixture]

/** Opens two handles and closes them after their use. */
export type WithHandles<R> = (
  use: (handles: Handles) => Effect.Effect<void, unknown>
) => Effect.Effect<void, unknown, R>

/** The content of each part of a scene as plain data. */
export type Seen = Readonly<Record<string, unknown>>

export const asText = (value: unknown): string => JSON.stringify(value)

/** Names of fields that have another number in each scene. */
const identifiers = /^(?:id|position|(?:application|user|owner|subscription|athlete|organizer)Id)$/

/** Plain data that is equal in equal scenes: without identifiers and labels, with sorted fields. */
const comparable = (label: string, value: unknown): unknown => {
  const without = (one: unknown): unknown => {
    if (typeof one === "string") return one.replaceAll(label, "…")
    if (Array.isArray(one)) return one.map(without)
    if (!Predicate.isRecord(one)) return one
    const fields = Object.keys(one).sort().filter((key) => typeof one[key] !== "number" || !identifiers.test(key))
    return Object.fromEntries(fields.map((key) => [key, without(one[key])]))
  }
  return without(plain(value)) ?? null
}

/** A new scene, made by the first handle. Only the label in its names differs from other scenes. */
export const staged = (makeScene: MakeScene, [f, g]: Handles) =>
  Effect.gen(function*() {
    const first = yield* Effect.provide(make, f.services)
    const handles: Handles = [first, f === g ? first : g]
    const { claimAgain, operations, parts, rest } = yield* makeScene(first)
    const comparing = <E>(run: Effect.Effect<unknown, E>) => Effect.map(run, (value) => comparable(first.label, value))
    return {
      handles,
      /** Runs an operation. Returns its answer, or the tag of its failure. */
      run: (name: string, by: Fixture, n = 1, version?: number): Effect.Effect<unknown> =>
        Effect.map(
          Effect.either(operations[name]?.(by, n, version) ?? Effect.dieMessage(`no operation "${name}"`)),
          Either.match({
            onLeft: (error) => Predicate.hasProperty(error, "_tag") ? error._tag : String(error),
            onRight: (answer) => comparable(first.label, answer)
          })
        ),
      /** Finds of these parts, or of all. */
      parts: (by: Fixture, names?: ReadonlyArray<string>): Readonly<Record<string, Effect.Effect<unknown, unknown>>> =>
        Rec.map(Rec.filter(parts(by), (_, name) => names?.includes(name) ?? true), comparing),
      claimAgain: claimAgain ?? Effect.void,
      rest: comparing(rest?.(handles[1]) ?? Effect.void),
      cleanUp: Effect.zipRight(
        Effect.forEach(new Set(handles), ({ unsubscribe }) => unsubscribe, { discard: true }),
        rest === undefined ? Effect.void : first.purge
      )
    }
  })

export type Stage = Effect.Effect.Success<ReturnType<typeof staged>>

/** Finds these parts of a scene, or all, one after the other. */
export const look = (stage: Stage, by: Fixture, names?: ReadonlyArray<string>): Effect.Effect<Seen, unknown> =>
  Effect.all(stage.parts(by, names))

/** These parts of what was seen. */
export const pick = (seen: Seen, parts: ReadonlyArray<string>): Seen =>
  Object.fromEntries(parts.map((part) => [part, seen[part]]))

/** Expects one of several named results. An error shows the difference to the nearest one. */
export const oneOf = (seen: Seen, expected: Readonly<Record<string, Seen>>, what: string): void => {
  const differing = (one: Seen) => Object.keys(one).filter((part) => asText(one[part]) !== asText(seen[part])).length
  const [nearest] = Object.entries(expected).sort(([, a], [, b]) => differing(a) - differing(b))
  if (nearest !== undefined) same(seen, nearest[1], `${what}, compared with ${nearest[0]}`)
}

/** One handle twice. */
export const alone = Effect.map(make, (f): Handles => [f, f])

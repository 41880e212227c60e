/** History entries of the operations of a program. */
import type { Stores } from "@startlist/core/Stores"
import { Secrets } from "@startlist/core/Secrets"
import type { Services } from "@startlist/core/Services"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { HistoryEntry } from "../HistoryEntry.ts"
import { ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import type { TestUsers } from "../TestUsers.ts"

/** An operation in progress. It returns `undefined` if no law is about it. */
export type Performed = Effect.Effect<
  HistoryEntry | undefined,
  never,
  Stores | TestUsers | Services | ScriptedCallbacks | Secrets
>

/** No operation. */
export const nothing: Performed = Effect.succeed(undefined)

/** The name of a refusal. */
const nameOfRefusal = (error: unknown): string => {
  if (Predicate.hasProperty(error, "reason") && Predicate.isTagged(error, "InvalidGrant")) return String(error.reason)
  return Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an unknown error"
}

/** Runs a use case. Returns when it began, its result, and these fields, which depend on its value. */
export const observed = <A, E, R, F>(useCase: Effect.Effect<A, E, R>, fields: (value: A | undefined) => F) =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) =>
    Effect.map(Effect.either(useCase), (either) => ({
      at: millis / 1000,
      result: Either.match(either, { onLeft: nameOfRefusal, onRight: () => "ok" }),
      ...fields(Option.getOrUndefined(Either.getRight(either)))
    })))

/** Adds to a list and returns the place. */
export const push = <A>(list: Array<A>, value: A): number => list.push(value) - 1

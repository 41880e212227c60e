/** What carrying out a operation comes to. */
import type { Access } from "@startlist/core/Access"
import type { Stores } from "@startlist/core/Stores"
import { Secrets } from "@startlist/core/Secrets"
import type { Services } from "@startlist/core/Services"
import * as Clock from "effect/Clock"
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type { HistoryEntry } from "../HistoryEntry.ts"
import { ScriptedCallbacks } from "../ScriptedCallbacks.ts"
import type { TestUsers } from "../TestUsers.ts"
import { type Cast, type ProgramFixture } from "./programFixture.ts"

/** What a operation did; `undefined` for what no law speaks of. */
export type Performed = Effect.Effect<
  HistoryEntry | undefined,
  never,
  Stores | TestUsers | Services | ScriptedCallbacks | Secrets
>

/** Nothing that a law speaks of. */
export const nothing: Performed = Effect.succeed(undefined)

/** The name of a refusal. */
const nameOfRefusal = (error: unknown): string => {
  if (Predicate.hasProperty(error, "reason") && Predicate.isTagged(error, "InvalidGrant")) return String(error.reason)
  return Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an unknown error"
}

interface Outcome<A> {
  readonly at: number
  readonly result: string
  readonly value: A | undefined
}

/** Runs a use case and tells when it began and how it came out. */
export const outcome = <A, E, R>(useCase: Effect.Effect<A, E, R>): Effect.Effect<Outcome<A>, never, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) =>
    Effect.map(Effect.either(useCase), (either) => ({
      at: millis / 1000,
      result: Either.match(either, { onLeft: nameOfRefusal, onRight: () => "ok" }),
      value: Option.getOrUndefined(Either.getRight(either))
    })))

/** Adds to a list and gives the place. */
export const push = <A>(list: Array<A>, value: A): number => list.push(value) - 1

/** The access of the platform user, who subscribes for the application. */
export const platformAccess = (
  fixture: ProgramFixture,
  { id: applicationId }: Cast,
  now: DateTime.Utc
): Option.Option<Access> =>
  Option.map(Option.fromNullable(fixture.users[0]), ({ id: userId, role }) => ({
    applicationId,
    userId,
    role,
    scope: [],
    createdAt: now,
    expiresAt: now
  }))

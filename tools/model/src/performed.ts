/** Prepared operations of a program, and their history entries. */
import { type Fingerprint, Secrets } from "@startlist/core/Secrets"
import type { Services, Stores } from "@startlist/core/Services"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type { HistoryEntry, Request } from "./HistoryEntry.ts"
import type { TestUsers } from "@startlist/testing/TestUsers"

/** The record that an answer names, and the secrets that its receiver learns. */
export interface Answer {
  /** The place of the record; -1 if there is none. */
  readonly made: number
  /** Stores the secrets. Called when the answer arrives, not if it is lost. */
  readonly learn: () => void
}

export type Needs = Stores | TestUsers | Services | Secrets

/** A request with its subjects. */
export interface Prepared {
  readonly request: Request
  readonly run: Effect.Effect<Answer, unknown, Needs>
}

/** The name of a refusal. */
const nameOfRefusal = (error: unknown): string => {
  if (Predicate.hasProperty(error, "reason") && Predicate.isTagged(error, "@startlist/core/InvalidGrant")) {
    return String(error.reason)
  }
  return Predicate.hasProperty(error, "_tag") ? String(error._tag) : "an unknown error"
}

/** A request whose answer names no record. */
export const prepare = <A, E>(request: Request, useCase: Effect.Effect<A, E, Needs>): Prepared => ({
  request,
  run: Effect.as(useCase, { made: -1, learn: () => {} })
})

/** A request whose answer names a record. */
export const making = <A, E>(
  request: Request,
  useCase: Effect.Effect<A, E, Needs>,
  answer: (value: A, hash: (secret: Redacted.Redacted<string>) => Fingerprint) => Answer
): Prepared => ({
  request,
  run: Effect.gen(function*() {
    const { hash } = yield* Secrets
    return answer(yield* useCase, (secret) => hash(Redacted.value(secret)))
  })
})

/** Runs a request. Returns its history entry and its answer. */
export const observed = ({ request, run }: Prepared) =>
  Effect.gen(function*() {
    const at = (yield* Clock.currentTimeMillis) / 1000
    const either = yield* Effect.either(run)
    const result = Either.match(either, { onLeft: nameOfRefusal, onRight: () => "ok" })
    const { learn, made } = Either.getOrElse(either, () => ({ learn: () => {}, made: -1 }))
    const entry: HistoryEntry = { ...request, at, result, made }
    return { entry, learn }
  })

/** Laws of the operations that write several things: all is written or nothing, however they end and whoever looks. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import type { Change, Grant } from "@startlist/core/Grant"
import { Audience } from "@startlist/core/Event"
import type { StoreError } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { law, type LawGroup } from "../Law.ts"
import { holds, same } from "./expecting.ts"
import { at, type Fixture, following, make } from "./fixture.ts"

/** An operation on records of its own, and for each thing that it writes whether that is there. */
interface Trial {
  readonly operation: Effect.Effect<unknown, unknown>
  readonly parts: ReadonlyArray<Effect.Effect<boolean, StoreError>>
}

type Prepare = (f: Fixture) => Effect.Effect<Trial, unknown>

const saveOfGrant: Prepare = (f) =>
  Effect.gen(function*() {
    const { app } = yield* f.subscribed
    const first = yield* f.grant(app, yield* f.user())
    const [access, code, refresh] = [f.access(), f.code(), f.refresh()]
    const change: Change = {
      grant: following(first, {
        access: AccessTokens.fromArray([access]),
        codes: [code],
        refresh: Option.some(refresh)
      }),
      outgoing: [1, 2].map((objectId) => ({
        event: f.event(objectId),
        audience: Audience.Application({ applicationId: app.id })
      }))
    }
    const saved = (isSaved: (grant: Grant) => boolean) =>
      Effect.map(f.grants.find(app.id, first.userId), Option.exists(isSaved))
    return {
      operation: f.grants.save(change),
      parts: [
        saved(({ version }) => version === 2),
        saved(({ codes }) => codes.length === 1),
        saved(({ access }) => access !== AccessTokens.none),
        saved(({ refresh }) => Option.isSome(refresh)),
        Effect.map(f.listed(app), (queued) => queued.some(({ event }) => event.objectId === 1)),
        Effect.map(f.listed(app), (queued) => queued.some(({ event }) => event.objectId === 2))
      ]
    }
  })

const saveOfRegistration: Prepare = (f) =>
  Effect.gen(function*() {
    const apps = [(yield* f.subscribed).app, (yield* f.subscribed).app]
    const registration = yield* f.registration(yield* f.user())
    const outgoing = apps.map(({ id }) => ({
      event: f.event(registration.id),
      audience: Audience.Application({ applicationId: id })
    }))
    return {
      operation: f.change(registration, outgoing),
      parts: [
        Effect.map(f.registrations.find(registration.id), Option.exists(({ version }) => version === 2)),
        ...apps.map((app) => Effect.map(f.listed(app), (queued) => queued.length === 1))
      ]
    }
  })

const removal: Prepare = (f) =>
  Effect.gen(function*() {
    const { app, subscription } = yield* f.subscribed
    yield* f.queue(app, [f.event(1), f.event(2)])
    const isCancelled = (place: number) => Effect.map(f.listed(app), (queued) => queued[place]?.state === "cancelled")
    return {
      operation: f.subscriptions.remove(subscription.id, at(1)),
      parts: [
        Effect.map(f.subscriptions.findByApplication(app.id), Option.isNone),
        isCancelled(0),
        isCancelled(1)
      ]
    }
  })

const isWhole = (seen: ReadonlyArray<boolean>): boolean => new Set(seen).size === 1

/** What is there at last: a statement that was under way when its caller went away may still come to its end. */
const seenAtLast = (trial: Trial, looks = 20): Effect.Effect<ReadonlyArray<boolean>, StoreError> =>
  Effect.flatMap(Effect.all(trial.parts), (seen) =>
    isWhole(seen) || looks === 1
      ? Effect.succeed(seen)
      : Effect.delay(Effect.suspend(() => seenAtLast(trial, looks - 1)), "50 millis"))

/** Interrupts the operation at this moment; answers whether it had ended by itself. */
const interrupt = (trial: Trial, moment: Effect.Effect<unknown>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(trial.operation)
    yield* moment
    const isOver = Option.isSome(yield* Fiber.poll(fiber))
    yield* Fiber.interrupt(fiber)
    holds(isWhole(yield* seenAtLast(trial)), "what of it is there")
    return isOver
  })

/** An operation in this process ends within a few turns; others are interrupted at moments, too. */
const mostTurns = 10
const rounds = 8

const laws = (name: string, prepare: Prepare) => [
  law(`${name} that is interrupted at any moment is done completely or not at all`, () =>
    Effect.gen(function*() {
      const f = yield* make
      for (let turns = 0; turns < mostTurns; turns++) {
        const wait = Effect.repeatN(Effect.yieldNow(), turns)
        if (yield* interrupt(yield* prepare(f), wait)) break
      }
      const [duration] = yield* Effect.timed((yield* prepare(f)).operation)
      for (let round = 0; round < rounds; round++) {
        const moment = yield* Random.nextRange(0, Duration.toMillis(duration))
        yield* interrupt(yield* prepare(f), Effect.sleep(moment))
      }
    })),
  law(`who sees a part of ${name} sees all of it from then on`, () =>
    Effect.gen(function*() {
      const f = yield* make
      for (let round = 0; round < rounds; round++) {
        const trial = yield* prepare(f)
        const fiber = yield* Effect.fork(trial.operation)
        const isOver = Effect.map(Fiber.poll(fiber), Option.isSome)
        const readers = trial.parts.map((part) =>
          Effect.gen(function*() {
            while (!(yield* part) && !(yield* isOver)) yield* Effect.sleep(0)
            return yield* Effect.all(trial.parts)
          })
        )
        const seen = yield* Effect.all(readers, { concurrency: "unbounded" })
        yield* Fiber.join(fiber)
        for (const one of seen) same(one, trial.parts.map(() => true))
      }
    }))
]

export const atomicityLaws: LawGroup<Stores> = {
  about: "all or nothing",
  laws: [
    ...laws("a save of a grant", saveOfGrant),
    ...laws("a save of a registration", saveOfRegistration),
    ...laws("a removal of a subscription", removal)
  ]
}

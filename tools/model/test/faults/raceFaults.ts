/** Faulty stores that lose races. */
import type { Claimed } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import { Conflict } from "@startlist/core/Store"
import { Array as Arr, Effect, Option } from "effect"
import {
  applications,
  type Change,
  deliveries,
  type Fault,
  type Good,
  grants,
  registrations,
  saves,
  subscriptions
} from "./Fault.ts"
import { isNext } from "./tornFaults.ts"

const nothing = Option.none()

/** Writes over any version that is stored by then. */
const forced = <A extends { readonly version: number }>(next: A, good: Good<A>, outgoing: ReadonlyArray<Outgoing>) => {
  const from = (version: number): ReturnType<typeof good.save> =>
    Effect.catchTag(
      good.save({ ...next, version }, outgoing),
      "@startlist/core/Conflict",
      () => version > next.version + 20 ? Effect.void : from(version + 1)
    )
  return Effect.flatMap(isNext(next, good), (isNext) => isNext ? from(next.version) : new Conflict())
}

const checked = "is checked, and then it is written"

export const raceFaults: ReadonlyArray<Fault<Change>> = [
  saves("race", "grants", `the version of a grant ${checked}`, forced),
  saves("race", "applications", `the version of an application ${checked}`, forced),
  saves("race", "registrations", `the version of a registration ${checked}`, forced),
  saves("race", "subscriptions", `the version of a subscription ${checked}`, forced),
  grants("handle", "a lock of the process stands in for the version of a grant", ({ find, save }, all) => {
    let last = Promise.resolve()
    return {
      save: ({ grant, outgoing }) =>
        Effect.async((resume) => {
          const stored = Effect.map(find(grant.applicationId, grant.userId), Option.map((found) => found.grant))
          const good: Good<Grant> = { all, stored, save: (grant, outgoing) => save({ grant, outgoing }) }
          last = last.then(() => Effect.runPromiseExit(forced(grant, good, outgoing))).then(resume)
        })
    }
  }),
  subscriptions("race", "whether an application is subscribed is checked, and then it is", (good) => ({
    insert: (next) =>
      Effect.flatMap(
        good.findByApplication(next.applicationId),
        (found) =>
          Option.isSome(found) ?
            good.insert(next) :
            Effect.catchTag(good.insert(next), "@startlist/core/AlreadySubscribed", () =>
              Effect.flatMap(
                good.findByApplication(next.applicationId),
                (one) => Option.isSome(one) ? Effect.succeed(one.value) : good.insert(next)
              ))
      )
  })),
  subscriptions("race", "a removal is answered by what was there before it", ({ insert, remove }, { deliveries }) => {
    const known = new Set<number>()
    return {
      insert: (next) => Effect.tap(insert(next), ({ id }) => void known.add(id)),
      remove: (id, now) =>
        Effect.gen(function*() {
          const isThere = known.has(id)
          yield* deliveries.settle([])
          yield* remove(id, now)
          known.delete(id)
          return isThere
        })
    }
  }),
  deliveries("race", "claims at the same time get the same", ({ claim }) => {
    let running: Promise<ReadonlyArray<Claimed>> | undefined
    return {
      claim: (request) =>
        Effect.promise(() =>
          running ??= Effect.runPromise(claim(request)).finally(() => {
            running = undefined
          })
        )
    }
  }),
  deliveries("race", "a settlement is answered by what was there before it", ({ find, settle }) => ({
    settle: (settlements) =>
      Effect.gen(function*() {
        const found = yield* Effect.forEach(settlements, ({ delivery }) => find(delivery.id))
        const recorded = yield* settle(settlements)
        // Not those of laws about wrong tokens.
        const isUsual = settlements.length === 1 && settlements.every(({ token }) => token.startsWith("claim-"))
        if (recorded.length > 0 || !isUsual) return recorded
        return Arr.getSomes(found).filter(({ state }) => state === "pending").map(({ id }) => id)
      })
  })),
  deliveries(
    "race",
    "a delivery again is answered by what was there before it",
    ({ again, enqueue }, { subscriptions }) => ({
      again: (told, now) =>
        Effect.flatMap(subscriptions.findByApplication(told.applicationId), (found) => {
          if (!Option.exists(found, ({ id }) => id === told.subscriptionId)) return Effect.succeedNone
          const audience = { _tag: "Application", applicationId: told.applicationId } as const
          return Effect.zipRight(enqueue([{ event: { ...told.event, time: now }, audience }]), again(told, now))
        })
    })
  ),
  deliveries("race", "what ended is counted, and then purged", ({ list, purge }) => ({
    purge: (before, limit) =>
      Effect.gen(function*() {
        const all = yield* list({ applicationId: nothing, state: nothing, after: nothing, limit: 100_000 })
        const ended = all.filter(({ endedAt }) => Option.exists(endedAt, (at) => at.epochMillis <= before.epochMillis))
        yield* purge(before, limit)
        return Math.min(ended.length, limit)
      })
  })),
  registrations("race", "the same save again succeeds", ({ find, save }) => ({
    save: (next, outgoing) =>
      Effect.flatMap(
        find(next.id),
        (found) =>
          Option.exists(found, (present) => JSON.stringify(present) === JSON.stringify(next))
            ? Effect.void
            : save(next, outgoing)
      )
  })),
  grants("race", "if one of several saves has a conflict, all have", ({ save }) => {
    let isConflicting = false
    let isPlanned = false
    return {
      save: (change) =>
        Effect.gen(function*() {
          if (!isPlanned) {
            isPlanned = true
            isConflicting = false
            setTimeout(() => isPlanned = false, 0)
          }
          yield* Effect.catchTag(
            save(change),
            "@startlist/core/Conflict",
            () => Effect.sync(() => isConflicting = true)
          )
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 0)))
          if (isConflicting) return yield* new Conflict()
        })
    }
  }),
  applications("race", "a suspension compares no version", ({ find, save }) => ({
    save: (next) =>
      next.state !== "suspended" ?
        save(next) :
        Effect.flatMap(find(next.id), (found) =>
          save({
            ...next,
            version: 1 + Option.match(found, { onNone: () => 0, onSome: ({ version }) => version })
          }))
  })),
  deliveries("race", "the log skips what is committed behind a later number", ({ log }) => {
    const late = new Set<number>()
    return {
      log: (request) =>
        Effect.map(log({ ...request, limit: request.limit + 1 }), (page) =>
          page.filter(({ position }, place) => {
            const isLate = position % 3 === 0 && place < page.length - 1 && !late.has(position)
            if (isLate) late.add(position)
            return !isLate
          }).slice(0, request.limit))
    }
  }),
  deliveries("race", "a claim returns deliveries as they were found before it", ({ claim, list }) => ({
    claim: (request) =>
      Effect.gen(function*() {
        const state = Option.some("pending" as const)
        const all = yield* list({ applicationId: nothing, state, after: nothing, limit: 100_000 })
        yield* Effect.yieldNow()
        const before = new Map(all.map((one) => [one.id, one]))
        return (yield* claim(request)).map((one) => ({ ...one, delivery: before.get(one.delivery.id) ?? one.delivery }))
      })
  }))
]

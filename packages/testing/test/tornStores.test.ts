/** Stores whose operations are in two steps, for the laws of atomicity to find. */
import { describe, expect, it } from "@effect/vitest"
import { Delivery, GrantStore, Registration, Subscription } from "@startlist/core"
import type { Stores } from "@startlist/core/Stores"
import { Context, Effect, Layer, Option } from "effect"
import { StoreLaws } from "../src/index.ts"
import { planted } from "./plantedBugs.ts"

/** Where two statements are, others run, and the caller can be interrupted. */
const pause = Effect.sleep(2)

/** The stores with another way to write, over the queue. */
const torn = <I, S extends object>(
  tag: Context.Tag<I & Stores, S>,
  change: (store: S, queue: Delivery.DeliveryStore.Service) => Partial<S>
): Layer.Layer<Stores> =>
  planted((stores) => {
    const store = Context.get(stores, tag)
    return Context.add(stores, tag, { ...store, ...change(store, Context.get(stores, Delivery.DeliveryStore)) })
  })

const faults: Readonly<Record<string, Layer.Layer<Stores>>> = {
  "a grant is saved, and then its events": torn(GrantStore.GrantStore, ({ save }, { enqueue }) => ({
    save: (change) =>
      save({ ...change, outgoing: [] }).pipe(
        Effect.zipLeft(pause),
        Effect.zipLeft(change.outgoing.length === 0 ? Effect.void : enqueue(change.outgoing))
      )
  })),
  "the events of a grant are saved, and then the grant": torn(GrantStore.GrantStore, ({ save }, { enqueue }) => ({
    save: (change) =>
      change.outgoing.length === 0
        ? save(change)
        : enqueue(change.outgoing).pipe(Effect.zipRight(pause), Effect.zipRight(save({ ...change, outgoing: [] })))
  })),
  "a registration is saved, and then its events": torn(
    Registration.RegistrationStore,
    ({ save }, { enqueue }) => ({
      save: (next, outgoing) => save(next, []).pipe(Effect.zipLeft(pause), Effect.zipLeft(enqueue(outgoing)))
    })
  ),
  "the events of a registration are saved one by one": torn(
    Registration.RegistrationStore,
    ({ save }, { enqueue }) => ({
      save: (next, outgoing) =>
        save(next, outgoing.slice(0, 1)).pipe(
          Effect.zipLeft(pause),
          Effect.zipLeft(enqueue(outgoing.slice(1)))
        )
    })
  ),
  "a subscription is removed, and then its deliveries": torn(
    Subscription.SubscriptionStore,
    ({ findByApplication, remove }) => {
      const removed = new Set<number>()
      return {
        findByApplication: (id) => Effect.map(findByApplication(id), Option.filter((one) => !removed.has(one.id))),
        remove: (id, now) =>
          Effect.sync(() => removed.add(id)).pipe(Effect.zipRight(pause), Effect.zipRight(remove(id, now)))
      }
    }
  )
}

const laws = StoreLaws.laws.filter(({ about }) => about === "all or nothing").flatMap(({ laws }) => laws)

/** Names of the laws that notice. */
const noticing = (stores: Layer.Layer<Stores>) =>
  Effect.forEach(
    laws,
    ({ check, name }) =>
      Effect.map(
        Effect.exit(Effect.provide(check, Layer.fresh(stores))),
        (exit) => exit._tag === "Failure" ? [name] : []
      )
  )
    .pipe(Effect.map((names) => names.flat()))

describe("the laws of atomicity notice that", () => {
  for (const [name, stores] of Object.entries(faults)) {
    it.live(name, () =>
      Effect.gen(function*() {
        expect((yield* noticing(stores)).length).toBe(2)
      }))
  }
})

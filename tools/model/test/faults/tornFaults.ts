/** Faulty stores whose changes can be seen or interrupted in the middle. */
import type { Delivery } from "@startlist/core/Delivery"
import type { Settlement } from "@startlist/core/DeliveryQueue"
import { Audience, type Outgoing } from "@startlist/core/Event"
import { Conflict } from "@startlist/core/Store"
import { AlreadySubscribed, type Subscription } from "@startlist/core/Subscription"
import { Array as Arr, Effect, Option } from "effect"
import {
  type All,
  type Change,
  deliveries,
  type Fault,
  type Good,
  inStores,
  persons,
  saves,
  subscriptions
} from "./Fault.ts"

const nothing = Option.none()

/** Events that are queued after the save that causes them. */
const after = (
  what: "grants" | "registrations",
  name: string,
  isLater: (one: Outgoing, place: number, next: { readonly status?: string; readonly version: number }) => boolean
) =>
  saves("torn", what, name, (next, { all, save }, outgoing) => {
    const [now, later] = Arr.partition(outgoing, (one, place) => isLater(one, place, next))
    return Effect.zipRight(save(next, now), later.length === 0 ? Effect.void : all.deliveries.enqueue(later))
  })

/** The same events, each to at most a number of applications with a grant of a user. */
export const concerned = ({ grants }: All, outgoing: ReadonlyArray<Outgoing>, most = Infinity) =>
  Effect.map(
    Effect.forEach(outgoing, ({ audience, event }) => {
      if (audience._tag === "Application") return Effect.succeed([{ audience, event }])
      return Effect.map(Effect.forEach(audience.userIds, grants.listByUser), (found) => {
        const ids = Arr.dedupe(found.flat().map(({ applicationId }) => applicationId)).sort((a, b) => a - b)
        return ids.slice(0, most).map((applicationId) => ({ event, audience: Audience.Application({ applicationId }) }))
      })
    }),
    Arr.flatten
  )

/** Whether a record would be saved over the version that is stored. */
export const isNext = <A extends { readonly version: number }>(next: A, { stored }: Good<A>) =>
  Effect.map(
    stored,
    (found) => Option.match(found, { onNone: () => 0, onSome: (one) => one.version }) === next.version - 1
  )

/** Events that are queued before the save that causes them. */
const before = (what: "grants" | "registrations", name: string) =>
  saves(
    "torn",
    what,
    name,
    (next, good, outgoing) =>
      Effect.flatMap(
        isNext(next, good),
        (isNext) =>
          isNext ? Effect.zipRight(good.all.deliveries.enqueue(outgoing), good.save(next, [])) : new Conflict()
      )
  )

/** Calls for each part of what one call is given, one after the other. */
const inTurn = <A, B, E>(parts: ReadonlyArray<A>, call: (part: A) => Effect.Effect<ReadonlyArray<B>, E>) =>
  Effect.map(Effect.forEach(parts, (part) => Effect.zipLeft(call(part), Effect.yieldNow())), (all) => all.flat())

const settledInTurn = (
  name: string,
  split: (settlements: ReadonlyArray<Settlement>) => ReadonlyArray<ReadonlyArray<Settlement>>
) => deliveries("torn", name, ({ settle }) => ({ settle: (settlements) => inTurn(split(settlements), settle) }))

export const tornFaults: ReadonlyArray<Fault<Change>> = [
  persons("torn", "a person is erased, and then the events are queued", ({ erase }, all) => ({
    erase: ({ revocations, ...erasure }) =>
      Effect.zipRight(
        erase({ ...erasure, revocations: revocations.map(({ grant }) => ({ grant, outgoing: [] })) }),
        Effect.asVoid(all.deliveries.enqueue(revocations.flatMap(({ outgoing }) => outgoing)))
      )
  })),
  after("grants", "a grant is saved, and then its events", () => true),
  before("grants", "the events of a grant are queued, and then it is saved"),
  after("grants", "the second event of a grant is queued after the first", (_, place) => place > 0),
  after("grants", "the event of a revocation comes after it", (_, __, { status }) => status === "revoked"),
  after("grants", "the events of a first save come after it", (_, __, { version }) => version === 1),
  after("registrations", "a registration is saved, and then its events", () => true),
  before("registrations", "the events of a registration are queued, and then it is saved"),
  after(
    "registrations",
    "events for those who have granted come after the save",
    ({ audience }) => audience._tag === "GrantedBy"
  ),
  after(
    "registrations",
    "events for one application come after the save",
    ({ audience }) => audience._tag === "Application"
  ),
  deliveries("torn", "events are enqueued one by one", ({ enqueue }) => ({
    enqueue: (outgoing) => inTurn(Arr.chunksOf(outgoing, 1), enqueue)
  })),
  deliveries("torn", "many events are enqueued ten at a time", ({ enqueue }) => ({
    enqueue: (outgoing) => inTurn(Arr.chunksOf(outgoing, 10), enqueue)
  })),
  settledInTurn("attempts are recorded one by one", Arr.chunksOf(1)),
  settledInTurn(
    "settlements that end deliveries are recorded before the others",
    (all) => Arr.partition(all, ({ delivery }) => delivery.state === "pending")
  ),
  settledInTurn(
    "settlements are recorded application by application",
    (all) => Object.values(Arr.groupBy(all, ({ delivery }) => String(delivery.applicationId)))
  ),
  deliveries("torn", "claims are released one by one", ({ release }) => ({
    release: (claims, dueAt) => inTurn(Arr.chunksOf(claims, 1), (some) => release(some, dueAt))
  })),
  subscriptions(
    "torn",
    "a subscription is gone, and then its deliveries are cancelled",
    ({ findByApplication, remove }) => {
      const gone = new Set<number>()
      return {
        findByApplication: (id) => Effect.map(findByApplication(id), Option.filter((one) => !gone.has(one.id))),
        remove: (id, now) => Effect.zipRight(Effect.sync(() => gone.add(id)), remove(id, now))
      }
    }
  ),
  subscriptions("torn", "deliveries are cancelled, and then their subscription is gone", (good) => {
    const inserted = new Map<number, Subscription>()
    const kept = new Map<number, Subscription>()
    return {
      insert: (next) => Effect.tap(good.insert(next), (one) => void inserted.set(one.id, one)),
      findByApplication: (id) =>
        Effect.map(good.findByApplication(id), Option.orElse(() => Option.fromNullable(kept.get(id)))),
      remove: (id, now) =>
        Effect.suspend(() => {
          const one = inserted.get(id)
          if (one === undefined) return good.remove(id, now)
          kept.set(one.applicationId, one)
          return Effect.tap(good.remove(id, now), () => Effect.sync(() => kept.delete(one.applicationId)))
        })
    }
  }),
  inStores("torn", "the second and later deliveries of a removed subscription are cancelled later", (all) => {
    const late = new Set<number>()
    const shown = (one: Delivery): Delivery =>
      late.has(one.subscriptionId) && one.event.objectId !== 1 && one.state === "cancelled"
        ? { ...one, state: "pending", endedAt: nothing }
        : one
    return {
      deliveries: {
        find: (id) => Effect.map(all.deliveries.find(id), Option.map(shown)),
        list: (filter) => Effect.map(all.deliveries.list(filter), Arr.map(shown))
      },
      subscriptions: {
        remove: (id, now) =>
          Effect.zipRight(Effect.sync(() => late.add(id)), all.subscriptions.remove(id, now)).pipe(
            Effect.tap(() => Effect.sync(() => late.delete(id)))
          )
      }
    }
  }),
  deliveries("torn", "the state of a delivery is recorded, and then its attempts", ({ find, settle }) => {
    const late = new Set<number>()
    return {
      find: (id) => Effect.map(find(id), Option.map((one) => late.has(one.id) ? { ...one, attempts: [] } : one)),
      settle: (settlements) =>
        Effect.suspend(() => {
          const ids = settlements.map(({ delivery }) => delivery.id)
          for (const id of ids) late.add(id)
          return Effect.tap(settle(settlements), () => Effect.sync(() => ids.forEach((id) => late.delete(id))))
        })
    }
  }),
  subscriptions("torn", "a removal cancels twenty deliveries at a time", ({ insert, remove }, { deliveries }) => {
    const owners = new Map<number, Subscription["applicationId"]>()
    return {
      insert: (next) => Effect.tap(insert(next), ({ id }) => void owners.set(id, next.applicationId)),
      remove: (id, now) =>
        Effect.gen(function*() {
          const owner = owners.get(id)
          while (owner !== undefined && (yield* deliveries.cancel(owner, now, 20)) === 20) yield* Effect.yieldNow()
          return yield* remove(id, now)
        })
    }
  }),
  subscriptions("torn", "an interrupted insertion of a subscription leaves its reservation", ({ insert }) => {
    const reserved = new Set<number>()
    return {
      insert: (next) =>
        Effect.gen(function*() {
          if (reserved.has(next.applicationId)) return yield* new AlreadySubscribed()
          reserved.add(next.applicationId)
          yield* Effect.yieldNow()
          const inserted = yield* Effect.exit(insert(next))
          reserved.delete(next.applicationId)
          return yield* inserted
        })
    }
  }),
  // Repeated after an interruption, such a call finds its mark, and does not do its work.
  deliveries("torn", "a cancellation that is interrupted is done by nobody", ({ cancel }) => {
    const begun = new Set<string>()
    return {
      cancel: (id, now, limit) =>
        Effect.gen(function*() {
          if (begun.has(`${id}`)) return 0
          begun.add(`${id}`)
          yield* Effect.yieldNow()
          const count = yield* cancel(id, now, limit)
          begun.delete(`${id}`)
          return count
        })
    }
  })
]

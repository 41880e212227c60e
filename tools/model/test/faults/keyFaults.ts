/** Faulty stores that confuse keys, are right only for small sizes, or go by another clock. */
import type { ApplicationId } from "@startlist/core/Application"
import type { Delivery } from "@startlist/core/Delivery"
import type { UserId } from "@startlist/core/User"
import { Array as Arr, DateTime, Effect, Option } from "effect"
import { type Change, deliveries, type Fault, grants, inStores } from "./Fault.ts"
import { concerned } from "./tornFaults.ts"

const nothing = Option.none()

/** Grants under keys that are joined of application and user. */
const joined = (name: string, join: (app: number, user: number) => string, isSaved = true) =>
  grants("key", name, ({ find, save }) => {
    const first = new Map<string, Parameters<typeof find>>()
    const keyOf = (...[app, user]: Parameters<typeof find>) => {
      const key = first.get(join(app, user)) ?? [app, user]
      first.set(join(app, user), key)
      return key
    }
    return {
      find: (app, user) => find(...keyOf(app, user)),
      save: ({ grant, outgoing }) => {
        const [applicationId, userId] = isSaved
          ? keyOf(grant.applicationId, grant.userId)
          : [grant.applicationId, grant.userId]
        return save({ grant: { ...grant, applicationId, userId }, outgoing })
      }
    }
  })

const keys: ReadonlyArray<Fault<Change>> = [
  joined("application and user are joined without a mark between them", (app, user) => `${app}${user}`),
  joined("user and application are added up", (app, user) => `${app + user}`, false),
  grants(
    "key",
    "grants of an application are those of all whose numbers begin with its own",
    ({ listByApplication, save }) => {
      const ids = new Set<ApplicationId>()
      return {
        save: (change) => Effect.tap(save(change), () => void ids.add(change.grant.applicationId)),
        listByApplication: (id, limit) => {
          const alike = [...new Set([id, ...ids])].filter((one) => String(one).startsWith(String(id)))
          return Effect.map(
            Effect.forEach(alike, (one) => listByApplication(one, limit)),
            (all) => all.flat().slice(0, limit)
          )
        }
      }
    }
  ),
  grants("key", "grants of a user are those of all whose numbers begin with its own", ({ listByUser, save }) => {
    const ids = new Set<UserId>()
    return {
      save: (change) => Effect.tap(save(change), () => void ids.add(change.grant.userId)),
      listByUser: (id) => {
        const alike = [...new Set([id, ...ids])].filter((one) => String(one).startsWith(String(id)))
        return Effect.map(Effect.forEach(alike, listByUser), Arr.flatten)
      }
    }
  }),
  deliveries("key", "the log is in the order of its positions as texts", ({ log }) => ({
    log: (request) =>
      Effect.map(log(request), (page) => [...page].sort((a, b) => String(a.position) < String(b.position) ? -1 : 1))
  })),
  deliveries("key", "of several settlements of a delivery in one call, the last one counts", ({ settle }) => ({
    settle: (all) => settle([...new Map(all.map((one) => [one.delivery.id, one])).values()])
  })),
  deliveries("key", "enqueueing returns the identifiers of one application", ({ enqueue, find }) => ({
    enqueue: (outgoing) =>
      Effect.gen(function*() {
        const queued = Arr.getSomes(yield* Effect.forEach(yield* enqueue(outgoing), find))
        return queued.filter((one) => one.applicationId === queued[0]?.applicationId).map(({ id }) => id)
      })
  }))
]

const pending = { applicationId: nothing, state: Option.some("pending" as const), after: nothing }

const sizes: ReadonlyArray<Fault<Change>> = [
  deliveries("key", "allowances do not count in front of a long queue", ({ claim, list }) => ({
    claim: (request) =>
      Effect.flatMap(
        list({ ...pending, limit: 100 }),
        ({ length }) => claim(length < 100 ? request : { ...request, allowances: new Map() })
      )
  })),
  deliveries("size", "a claim looks at the first 500 pending deliveries", ({ claim, list, release }) => ({
    claim: (request) =>
      Effect.gen(function*() {
        const first = new Set((yield* list({ ...pending, limit: 100_000 })).slice(-500).map(({ id }) => id))
        const [others, seen] = Arr.partition(yield* claim(request), ({ delivery }) => first.has(delivery.id))
        yield* Effect.forEach(others, (one) => release([one], one.delivery.dueAt))
        return seen
      })
  })),
  inStores("size", "a removal cancels at most 100 deliveries", ({ deliveries, subscriptions }) => {
    const left = new Set<number>()
    const shown = (one: Delivery): Delivery => left.has(one.id) ? { ...one, state: "pending", endedAt: nothing } : one
    return {
      deliveries: { list: (filter) => Effect.map(deliveries.list(filter), Arr.map(shown)) },
      subscriptions: {
        remove: (id, now) =>
          Effect.gen(function*() {
            const all = (yield* deliveries.list({ ...pending, limit: 100_000 })).filter((one) =>
              one.subscriptionId === id
            )
            for (const one of all.slice(100)) left.add(one.id)
            return yield* subscriptions.remove(id, now)
          })
      }
    }
  }),
  grants("size", "a user has at most 20 grants on the list", ({ listByUser }) => ({
    listByUser: (id) => Effect.map(listByUser(id), Arr.take(20))
  })),
  deliveries("size", "at most 20 applications are notified of an event", ({ enqueue }, all) => ({
    enqueue: (outgoing) => Effect.flatMap(concerned(all, outgoing, 20), enqueue)
  }))
]

const times: ReadonlyArray<Fault<Change>> = [
  deliveries("time", "what is due is due by the clock of the store", ({ claim }) => ({
    claim: (request) =>
      claim({
        ...request,
        now: DateTime.max(request.now, DateTime.unsafeNow()),
        leaseEnds: DateTime.max(request.leaseEnds, DateTime.add(DateTime.unsafeNow(), { seconds: 15 }))
      })
  })),
  deliveries("time", "a lease ends fifteen seconds from now, by the clock of the store", ({ claim }) => ({
    claim: (request) => claim({ ...request, leaseEnds: DateTime.add(DateTime.unsafeNow(), { seconds: 15 }) })
  })),
  deliveries("time", "a purge goes by the time at which a delivery was due", ({ list, purge }) => {
    const gone = new Set<number>()
    return {
      list: (filter) => Effect.map(list(filter), Arr.filter(({ id }) => !gone.has(id))),
      purge: (before, limit) =>
        Effect.gen(function*() {
          for (const { dueAt, id } of yield* list({ ...pending, limit: 100_000 })) {
            if (dueAt.epochMillis <= before.epochMillis) gone.add(id)
          }
          return yield* purge(before, limit)
        })
    }
  }),
  deliveries("time", "a release makes nothing due earlier", ({ release }) => ({
    release: (claims, dueAt) =>
      release(claims, claims.reduce((latest, { delivery }) => DateTime.max(latest, delivery.dueAt), dueAt))
  }))
]

export const keyFaults: ReadonlyArray<Fault<Change>> = [...keys, ...sizes, ...times]

/** Faulty stores that find, remember or store something wrong. */
import type { Application } from "@startlist/core/Application"
import type { Delivery, DeliveryId } from "@startlist/core/Delivery"
import type { Claimed, ClaimRequest, DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { Grant } from "@startlist/core/Grant"
import { Conflict } from "@startlist/core/Store"
import { Array as Arr, Effect, Option, Stream } from "effect"
import {
  applications,
  type Change,
  deliveries,
  type Fault,
  grants,
  inStores,
  registrations,
  subscriptions
} from "./Fault.ts"

const nothing = Option.none()

/** A record of the first find, with some of its fields from a second one. */
const mixed = <A extends object, K extends keyof A, E>(
  find: Effect.Effect<Option.Option<A>, E>,
  ...fields: ReadonlyArray<K>
) =>
  Effect.zipWith(find, find, (one, two) =>
    Option.zipWith(one, two, (first, second) => {
      const result = { ...first }
      for (const field of fields) result[field] = second[field]
      return result
    }))

const isIn = (state: Application["state"]) => ({ state: present }: Application): boolean => present === state

/** Deliveries that are found again one after the other. */
const foundAgain = (find: (id: DeliveryId) => Effect.Effect<Option.Option<Delivery>, unknown>) => (one: Delivery) =>
  Effect.zipRight(Effect.yieldNow(), Effect.map(Effect.orDie(find(one.id)), Option.getOrElse(() => one)))

const finds: ReadonlyArray<Fault<Change>> = [
  grants("find", "a grant is found, and then its tokens", ({ find }) => ({
    find: (app, user) =>
      Effect.zipWith(
        find(app, user),
        find(app, user),
        (one, two) =>
          Option.zipWith(one, two, ({ application, grant }, { grant: { access, codes, refresh } }) => ({
            application,
            grant: { ...grant, access, codes, refresh }
          }))
      )
  })),
  grants("find", "a user's grants are found, and then their scopes", ({ listByUser }) => ({
    listByUser: (user) =>
      Effect.zipWith(
        listByUser(user),
        listByUser(user),
        (one, two) => one.map((grant, place) => ({ ...grant, scope: two[place]?.scope ?? grant.scope }))
      )
  })),
  applications("find", "an application is found, and then its secrets", ({ find }) => ({
    find: (id) => mixed(find(id), "secrets")
  })),
  registrations("find", "a registration is found, and then its updates", ({ find }) => ({
    find: (id) => mixed(find(id), "updates")
  })),
  applications("find", "signing secrets are found, and then their values", ({ findSigningSecrets }) => ({
    findSigningSecrets: (id) => mixed(findSigningSecrets(id), "secrets")
  })),
  deliveries("find", "a delivery is found, and then its attempts", ({ find }) => ({
    find: (id) => mixed(find(id), "attempts")
  })),
  applications("find", "an old answer is given while a new one is fetched", ({ find }) => {
    const last = new Map<number, Option.Option<Application>>()
    return {
      find: (id) =>
        Effect.suspend(() => {
          const known = last.get(id)
          return Effect.map(find(id), (found) => {
            last.set(id, found)
            return known ?? found
          })
        })
    }
  }),
  grants("find", "grants of a user are ordered by whole seconds", ({ listByUser }) => ({
    listByUser: (id) =>
      Effect.map(listByUser(id), (found) => {
        const seconds = ({ grantedAt }: Grant) => Math.floor(grantedAt.epochMillis / 1000)
        return [...found].sort((a, b) => seconds(a) - seconds(b) || a.applicationId - b.applicationId)
      })
  })),
  subscriptions("find", "a suspended application has no subscription", ({ findByApplication }, { applications }) => ({
    findByApplication: (id) =>
      Effect.flatMap(
        applications.find(id),
        (found) => Option.exists(found, isIn("suspended")) ? Effect.succeedNone : findByApplication(id)
      )
  })),
  grants("find", "a grant is found after its application", ({ find }, { applications }) => ({
    find: (applicationId, userId) =>
      Effect.gen(function*() {
        const application = yield* applications.find(applicationId)
        yield* Effect.yieldNow()
        const found = yield* find(applicationId, userId)
        return Option.zipWith(found, application, ({ grant }, application) => ({ grant, application }))
      })
  })),
  deliveries("find", "claimed deliveries are on no list of pending ones", ({ claim, list }) => {
    const claimed = new Set<DeliveryId>()
    return {
      claim: (request) => Effect.tap(claim(request), (all) => all.forEach(({ delivery }) => claimed.add(delivery.id))),
      list: (filter) =>
        Effect.map(
          list(filter),
          (found) => Option.contains(filter.state, "pending") ? found.filter(({ id }) => !claimed.has(id)) : found
        )
    }
  }),
  deliveries("find", "a page of the log is read entry by entry", ({ find, log }) => ({
    log: (request) =>
      Effect.flatMap(
        log(request),
        Effect.forEach((entry) => Effect.map(foundAgain(find)(entry.delivery), (delivery) => ({ ...entry, delivery })))
      )
  })),
  deliveries("find", "a list of a state finds its deliveries before it reads them", ({ find, list }) => ({
    list: (filter) => Effect.flatMap(list(filter), Effect.forEach(foundAgain(find)))
  })),
  deliveries("find", "a page after a delivery in another state begins again", ({ find, list }) => ({
    list: (filter) =>
      Effect.gen(function*() {
        const last = Option.flatten(yield* Effect.transposeMapOption(filter.after, find))
        const isListed = ({ state }: Delivery) => Option.getOrElse(filter.state, () => state) === state
        return yield* list({ ...filter, after: Option.map(Option.filter(last, isListed), ({ id }) => id) })
      })
  })),
  grants("find", "the grants of a user are read application by application", ({ find, listByUser }) => ({
    listByUser: (userId) =>
      Effect.gen(function*() {
        const found = yield* Effect.forEach(
          yield* listByUser(userId),
          ({ applicationId }) => find(applicationId, userId)
        )
        return Arr.getSomes(found).map(({ grant }) => grant).filter(({ status }) => status === "active")
      })
  })),
  applications("find", "suspended applications are not on the list of all", ({ list }) => ({
    list: (request) =>
      Effect.map(
        list(request),
        (found) => Option.isNone(request.owner) ? found.filter((one) => !isIn("suspended")(one)) : found
      )
  })),
  deliveries("find", "an erasure leaves the texts in a copy of the log", ({ log }) => {
    const copies = new Map<number, Delivery["event"]["updates"]>()
    const copied = (delivery: Delivery): Delivery => {
      const updates = copies.get(delivery.id) ?? delivery.event.updates
      copies.set(delivery.id, updates)
      return { ...delivery, event: { ...delivery.event, updates } }
    }
    return {
      log: (request) => Effect.map(log(request), Arr.map((entry) => ({ ...entry, delivery: copied(entry.delivery) })))
    }
  }),
  grants("find", "an erasure leaves its grants in an index of applications", ({ find, listByApplication, save }) => {
    const index: Array<Grant> = []
    return {
      save: ({ grant, outgoing }) => Effect.tap(save({ grant, outgoing }), () => void index.push(grant)),
      listByApplication: (id, limit) =>
        Effect.zipWith(
          listByApplication(id, limit),
          Effect.filter(
            index.filter(({ applicationId, status }) => applicationId === id && status === "active"),
            (one) => Effect.map(find(id, one.userId), Option.isNone)
          ),
          (found, left) => [...found, ...left].slice(0, limit)
        )
    }
  }),
  deliveries("find", "each wake-up reaches every other listener", ({ wakeUps }) => {
    let listeners = 0
    return {
      wakeUps: Stream.unwrap(Effect.sync(() => {
        const mine = listeners++ % 2
        let hints = 0
        return Stream.filter(wakeUps, () => hints++ % 2 === mine)
      }))
    }
  })
]

/** Remembers what was found, until this handle forgets it. */
const remembering = <A>(isKept: (found: A) => boolean = () => true) => {
  const known = new Map<string, A>()
  return {
    forget: (...key: ReadonlyArray<number>) => Effect.sync(() => void known.delete(key.join(" "))),
    of: <E>(find: Effect.Effect<A, E>, ...key: ReadonlyArray<number>): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        const found = known.get(key.join(" "))
        if (found !== undefined) return Effect.succeed(found)
        return Effect.tap(find, (one) => void (isKept(one) && known.set(key.join(" "), one)))
      })
  }
}

/** Claims that show the subscription or secrets of an earlier one of this handle. */
const rememberedClaims = <K extends "signingSecrets" | "subscription">(
  claim: DeliveryQueue.Service["claim"],
  field: K
) => {
  const known = remembering<Claimed[K]>()
  const remembered = (one: Claimed) =>
    Effect.map(
      known.of(Effect.succeed(one[field]), one.delivery.applicationId),
      (value) => ({ ...one, [field]: value })
    )
  return { known, claim: (request: ClaimRequest) => Effect.flatMap(claim(request), Effect.forEach(remembered)) }
}

const handles: ReadonlyArray<Fault<Change>> = [
  applications("handle", "each handle remembers applications", ({ find, save }) => {
    const known = remembering<Option.Option<Application>>(Option.isSome)
    return {
      find: (id) => known.of(find(id), id),
      save: (next) => Effect.ensuring(save(next), known.forget(next.id))
    }
  }),
  grants("handle", "each handle remembers grants", ({ find, save }) => {
    const known = remembering<Effect.Effect.Success<ReturnType<typeof find>>>(Option.isSome)
    return {
      find: (app, user) => known.of(find(app, user), app, user),
      save: (change) => Effect.ensuring(save(change), known.forget(change.grant.applicationId, change.grant.userId))
    }
  }),
  grants("handle", "a grant that was found revoked is not read again", ({ find, save }) => {
    const known = remembering<Effect.Effect.Success<ReturnType<typeof find>>>(
      Option.exists(({ grant }) => grant.status === "revoked")
    )
    return {
      find: (app, user) => known.of(find(app, user), app, user),
      save: (change) => Effect.zipLeft(save(change), known.forget(change.grant.applicationId, change.grant.userId))
    }
  }),
  registrations("handle", "each handle remembers registrations", ({ find, save }) => {
    const known = remembering<Effect.Effect.Success<ReturnType<typeof find>>>(Option.isSome)
    return {
      find: (id) => known.of(find(id), id),
      save: (next, outgoing) => Effect.ensuring(save(next, outgoing), known.forget(next.id))
    }
  }),
  subscriptions(
    "handle",
    "each handle remembers that an application has no subscription",
    ({ findByApplication, insert }) => {
      const known = remembering<Effect.Effect.Success<ReturnType<typeof findByApplication>>>(Option.isNone)
      return {
        findByApplication: (id) => known.of(findByApplication(id), id),
        insert: (next) => Effect.zipLeft(insert(next), known.forget(next.applicationId))
      }
    }
  ),
  deliveries("handle", "each handle remembers deliveries that have ended", ({ find, settle }) => {
    const known = remembering<Option.Option<Delivery>>(Option.isSome)
    return {
      find: (id) => known.of(find(id), id),
      settle: (all) =>
        Effect.ensuring(
          settle(all),
          Effect.forEach(all, ({ delivery }) => known.forget(delivery.id), { discard: true })
        )
    }
  }),
  inStores("handle", "each handle remembers the signing secrets of its claims", ({ applications, deliveries }) => {
    const { claim, known } = rememberedClaims(deliveries.claim, "signingSecrets")
    const saveSigningSecrets: typeof applications.saveSigningSecrets = (next) =>
      Effect.ensuring(applications.saveSigningSecrets(next), known.forget(next.applicationId))
    return { deliveries: { claim }, applications: { saveSigningSecrets } }
  }),
  inStores("handle", "each handle remembers the subscriptions of its claims", ({ deliveries, subscriptions }) => {
    const { claim, known } = rememberedClaims(deliveries.claim, "subscription")
    return {
      deliveries: { claim },
      subscriptions: {
        insert: (next) => Effect.ensuring(subscriptions.insert(next), known.forget(next.applicationId)),
        save: (next) => Effect.ensuring(subscriptions.save(next), known.forget(next.applicationId))
      }
    }
  }),
  applications("handle", "saves of applications are acknowledged before they are written", ({ find, save }) => {
    const pending = new Map<number, Option.Option<Application>>()
    return {
      find: (id) => Effect.suspend(() => pending.has(id) ? Effect.succeed(pending.get(id) ?? nothing) : find(id)),
      save: (next) =>
        Effect.gen(function*() {
          const found = pending.get(next.id) ?? (yield* find(next.id))
          if (!Option.exists(found, ({ version }) => version === next.version - 1)) return yield* new Conflict()
          pending.set(next.id, Option.some(next))
          yield* Effect.forkDaemon(Effect.delay(Effect.ignore(save(next)), "20 millis"))
        })
    }
  }),
  deliveries("handle", "the end of one listener ends the wake-ups of the others", ({ wakeUps }) => {
    let isOver = false
    const end = Effect.sync(() => {
      isOver = true
    })
    return { wakeUps: Stream.ensuring(Stream.filter(wakeUps, () => !isOver), end) }
  })
]

export const answerFaults: ReadonlyArray<Fault<Change>> = [...finds, ...handles]

/** Faults of stores that people planted who had not seen the laws, and that the laws once missed. */
import { type Application } from "@startlist/core/Application"
import type { Delivery, DeliveryId } from "@startlist/core/Delivery"
import type { Claimed } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import { Conflict } from "@startlist/core/Store"
import { AlreadySubscribed } from "@startlist/core/Subscription"
import { Array as Arr, DateTime, Effect, Option, Stream } from "effect"
import { fault, type StoreFault } from "./storeFaults.ts"

const toThree = (outgoing: ReadonlyArray<Outgoing>): ReadonlyArray<Outgoing> =>
  outgoing.map(({ audience, event }) => ({
    event,
    audience: audience._tag === "GrantedBy" ? { ...audience, userIds: audience.userIds.slice(0, 3) } : audience
  }))

const isIn = (state: Application["state"]) => ({ state: present }: Application): boolean => present === state

const endOf = ({ expiresAt }: Claimed["signingSecrets"][number]): number =>
  Option.match(expiresAt, { onNone: () => Infinity, onSome: DateTime.toEpochMillis })

export const subtleStoreFaults: ReadonlyArray<StoreFault> = [
  fault("field", "links that a save leaves out are kept", ({ applications }) => ({
    applications: {
      save: (next) =>
        Effect.flatMap(applications.find(next.id), (found) => {
          const links = Option.getOrUndefined(found)?.links
          return applications.save(next.links === undefined && links !== undefined ? { ...next, links } : next)
        })
    }
  })),
  fault("field", "an application that has ended has no signing secrets", ({ applications }) => ({
    applications: {
      findSigningSecrets: (id) =>
        Effect.flatMap(
          applications.find(id),
          (found) => Option.exists(found, isIn("ended")) ? Effect.succeedNone : applications.findSigningSecrets(id)
        )
    }
  })),
  fault("field", "white space at the end of a comment is lost", ({ registrations }) => ({
    registrations: {
      find: (id) =>
        Effect.map(
          registrations.find(id),
          Option.map((one) => ({ ...one, updates: { ...one.updates, comment: one.updates.comment.trimEnd() } }))
        )
    }
  })),
  fault("field", "only three users of an audience count", ({ deliveries, grants, registrations }) => ({
    deliveries: { enqueue: (outgoing) => deliveries.enqueue(toThree(outgoing)) },
    grants: { save: ({ grant, outgoing }) => grants.save({ grant, outgoing: toThree(outgoing) }) },
    registrations: { save: (next, outgoing) => registrations.save(next, toThree(outgoing)) }
  })),
  fault("field", "all deliveries of a claim have the secrets of the first", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        Effect.map(
          deliveries.claim(request),
          (claimed) => claimed.map((one) => ({ ...one, signingSecrets: claimed[0]?.signingSecrets ?? [] }))
        )
    }
  })),
  fault("field", "a cancelled delivery loses its attempts", ({ deliveries }) => ({
    deliveries: {
      list: (filter) =>
        Effect.map(
          deliveries.list(filter),
          (found) => found.map((one) => one.state === "cancelled" ? { ...one, attempts: [] } : one)
        )
    }
  })),
  fault("find", "grants of a user are ordered by whole seconds", ({ grants }) => ({
    grants: {
      listByUser: (id) =>
        Effect.map(grants.listByUser(id), (found) => {
          const seconds = ({ grantedAt }: typeof found[number]) => Math.floor(grantedAt.epochMillis / 1000)
          return [...found].sort((a, b) => seconds(a) - seconds(b) || a.applicationId - b.applicationId)
        })
    }
  })),
  fault("find", "a suspended application has no subscription", ({ applications, subscriptions }) => ({
    subscriptions: {
      findByApplication: (id) =>
        Effect.flatMap(
          applications.find(id),
          (found) => Option.exists(found, isIn("suspended")) ? Effect.succeedNone : subscriptions.findByApplication(id)
        )
    }
  })),
  fault("find", "a grant is found after its application", ({ applications, grants }) => ({
    grants: {
      find: (applicationId, userId) =>
        Effect.gen(function*() {
          const application = yield* applications.find(applicationId)
          yield* Effect.yieldNow()
          const found = yield* grants.find(applicationId, userId)
          return Option.zipWith(found, application, ({ grant }, application) => ({ grant, application }))
        })
    }
  })),
  fault("find", "claimed deliveries are on no list of pending ones", ({ deliveries }) => {
    const claimed = new Set<DeliveryId>()
    return {
      deliveries: {
        claim: (request) =>
          Effect.tap(
            deliveries.claim(request),
            (found) => Effect.sync(() => found.forEach(({ delivery }) => claimed.add(delivery.id)))
          ),
        list: (filter) =>
          Effect.map(
            deliveries.list(filter),
            (found) => Option.contains(filter.state, "pending") ? found.filter(({ id }) => !claimed.has(id)) : found
          )
      }
    }
  }),
  fault("find", "each wake-up reaches every other listener", ({ deliveries }) => {
    let listeners = 0
    return {
      deliveries: {
        wakeUps: Stream.unwrap(Effect.sync(() => {
          const mine = listeners++ % 2
          let hints = 0
          return Stream.filter(deliveries.wakeUps, () => hints++ % 2 === mine)
        }))
      }
    }
  }),
  fault("field", "nothing is delivered again while the subscription is paused", ({ deliveries, subscriptions }) => ({
    deliveries: {
      again: (told, now) =>
        Effect.flatMap(
          subscriptions.findByApplication(told.applicationId),
          (found) => Option.exists(found, ({ paused }) => paused) ? Effect.succeedNone : deliveries.again(told, now)
        )
    }
  })),
  fault("time", "a release makes nothing due earlier", ({ deliveries }) => ({
    deliveries: {
      release: (claims, dueAt) =>
        deliveries.release(claims, claims.reduce((latest, { delivery }) => DateTime.max(latest, delivery.dueAt), dueAt))
    }
  })),
  fault("key", "allowances do not count in front of a long queue", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        Effect.flatMap(
          deliveries.list({
            applicationId: Option.none(),
            state: Option.some("pending"),
            after: Option.none(),
            limit: 100
          }),
          ({ length }) => deliveries.claim(length < 100 ? request : { ...request, allowances: new Map() })
        )
    }
  })),
  fault("race", "the same save again succeeds", ({ registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.flatMap(
          registrations.find(next.id),
          (found) =>
            Option.exists(found, (present) => JSON.stringify(present) === JSON.stringify(next))
              ? Effect.void
              : registrations.save(next, outgoing)
        )
    }
  })),
  fault("race", "if one of several saves has a conflict, all have", ({ grants }) => {
    let isConflicting = false
    let isPlanned = false
    return {
      grants: {
        save: (change) =>
          Effect.gen(function*() {
            if (!isPlanned) {
              isPlanned = true
              isConflicting = false
              setTimeout(() => isPlanned = false, 0)
            }
            yield* Effect.catchTag(grants.save(change), "Conflict", () => Effect.sync(() => isConflicting = true))
            yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 0)))
            if (isConflicting) return yield* new Conflict()
          })
      }
    }
  }),
  fault("torn", "a removal cancels twenty deliveries at a time", ({ deliveries, subscriptions }) => {
    const applications = new Map<number, Application["id"]>()
    return {
      subscriptions: {
        insert: (next) =>
          Effect.tap(
            subscriptions.insert(next),
            ({ id }) => Effect.sync(() => applications.set(id, next.applicationId))
          ),
        remove: (id, now) =>
          Effect.gen(function*() {
            const application = applications.get(id)
            while (application !== undefined && (yield* deliveries.cancel(application, now, 20)) === 20) {
              yield* Effect.yieldNow()
            }
            return yield* subscriptions.remove(id, now)
          })
      }
    }
  }),
  fault("torn", "many events are enqueued ten at a time", ({ deliveries }) => ({
    deliveries: {
      enqueue: (outgoing) => {
        const tens = Array.from(
          { length: Math.ceil(outgoing.length / 10) },
          (_, ten) => outgoing.slice(10 * ten, 10 * ten + 10)
        )
        return Effect.map(
          Effect.forEach(tens, (ten) => Effect.zipLeft(deliveries.enqueue(ten), Effect.yieldNow())),
          (ids) => ids.flat()
        )
      }
    }
  })),
  fault("torn", "an interrupted insertion of a subscription leaves its reservation", ({ subscriptions }) => {
    const reserved = new Set<number>()
    return {
      subscriptions: {
        insert: (next) =>
          Effect.gen(function*() {
            if (reserved.has(next.applicationId)) return yield* new AlreadySubscribed()
            reserved.add(next.applicationId)
            yield* Effect.yieldNow()
            const inserted = yield* Effect.exit(subscriptions.insert(next))
            reserved.delete(next.applicationId)
            return yield* inserted
          })
      }
    }
  }),
  fault("find", "a page of the log is read entry by entry", ({ deliveries }) => ({
    deliveries: {
      log: (request) =>
        Effect.flatMap(
          deliveries.log(request),
          Effect.forEach((entry) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.map(
                deliveries.find(entry.delivery.id),
                (found) => ({ ...entry, delivery: Option.getOrElse(found, () => entry.delivery) })
              )
            )
          )
        )
    }
  })),
  fault("find", "a list of a state finds its deliveries before it reads them", ({ deliveries }) => ({
    deliveries: {
      list: (filter) =>
        Effect.flatMap(
          deliveries.list(filter),
          Effect.forEach((one) =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.map(deliveries.find(one.id), Option.getOrElse(() => one))
            )
          )
        )
    }
  })),
  fault("find", "a page after a delivery in another state begins again", ({ deliveries }) => ({
    deliveries: {
      list: (filter) =>
        Effect.gen(function*() {
          const last = Option.flatten(yield* Effect.transposeMapOption(filter.after, deliveries.find))
          const isListed = ({ state }: Delivery) => Option.getOrElse(filter.state, () => state) === state
          return yield* deliveries.list({ ...filter, after: Option.map(Option.filter(last, isListed), ({ id }) => id) })
        })
    }
  })),
  fault("field", "leases end at whole seconds", ({ deliveries }) => ({
    deliveries: {
      claim: (request) => {
        const leaseEnds = DateTime.startOf(request.leaseEnds, "second")
        return Effect.map(
          deliveries.claim({ ...request, leaseEnds }),
          (claimed) => claimed.map((one) => ({ ...one, leaseEnds: request.leaseEnds }))
        )
      }
    }
  })),
  fault("handle", "the end of one listener ends the wake-ups of the others", ({ deliveries }) => {
    let isOver = false
    const end = Effect.sync(() => {
      isOver = true
    })
    return { deliveries: { wakeUps: Stream.ensuring(Stream.filter(deliveries.wakeUps, () => !isOver), end) } }
  }),
  fault("torn", "settlements that end deliveries are recorded before the others", ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        Effect.zipWith(
          deliveries.settle(settlements.filter(({ delivery }) => delivery.state !== "pending")),
          deliveries.settle(settlements.filter(({ delivery }) => delivery.state === "pending")),
          (ended, others) => [...ended, ...others]
        )
    }
  })),
  fault("race", "a suspension compares no version", ({ applications }) => ({
    applications: {
      save: (next) =>
        next.state === "suspended"
          ? Effect.flatMap(applications.find(next.id), (found) =>
            applications.save({
              ...next,
              version: 1 + Option.match(found, { onNone: () => 0, onSome: ({ version }) => version })
            }))
          : applications.save(next)
    }
  })),
  fault("find", "the grants of a user are read application by application", ({ grants }) => ({
    grants: {
      listByUser: (userId) =>
        Effect.flatMap(grants.listByUser(userId), (listed) =>
          Effect.map(
            Effect.forEach(listed, ({ applicationId }) => grants.find(applicationId, userId)),
            (found) =>
              found.flatMap(Option.toArray).map(({ grant }) => grant).filter(({ status }) => status === "active")
          ))
    }
  })),
  fault("handle", "a grant that was found revoked is not read again", ({ grants }) => {
    const revoked = new Map<string, Effect.Effect.Success<ReturnType<typeof grants.find>>>()
    return {
      grants: {
        find: (applicationId, userId) =>
          Effect.suspend(() => {
            const key = `${applicationId} ${userId}`
            const known = revoked.get(key)
            return known !== undefined ?
              Effect.succeed(known) :
              Effect.tap(grants.find(applicationId, userId), (found) =>
                Effect.sync(() => {
                  if (Option.exists(found, ({ grant }) => grant.status === "revoked")) revoked.set(key, found)
                }))
          }),
        save: (change) =>
          Effect.tap(
            grants.save(change),
            () => Effect.sync(() => revoked.delete(`${change.grant.applicationId} ${change.grant.userId}`))
          )
      }
    }
  }),
  fault("field", "the secrets of a claim are in the order of their ends", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        Effect.map(deliveries.claim(request), (claimed) =>
          claimed.map((one) => ({
            ...one,
            signingSecrets: [...one.signingSecrets].sort((a, b) => endOf(a) - endOf(b))
          })))
    }
  })),
  fault("field", "the secrets of a claim are remembered by their number", ({ deliveries }) => {
    const known = new Map<string, Claimed["signingSecrets"]>()
    return {
      deliveries: {
        claim: (request) =>
          Effect.map(deliveries.claim(request), (claimed) =>
            claimed.map((one) => {
              const key = `${one.delivery.applicationId} ${one.signingSecrets.length}`
              const signingSecrets = known.get(key) ?? one.signingSecrets
              known.set(key, signingSecrets)
              return { ...one, signingSecrets }
            }))
      }
    }
  }),
  fault("torn", "settlements are recorded application by application", ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        Effect.map(
          Effect.forEach(
            Object.values(Arr.groupBy(settlements, ({ delivery }) => String(delivery.applicationId))),
            (some) => Effect.zipLeft(deliveries.settle(some), Effect.yieldNow())
          ),
          (recorded) => recorded.flat()
        )
    }
  })),
  fault("key", "of several settlements of a delivery in one call, the last one counts", ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        deliveries.settle([...new Map(settlements.map((one) => [one.delivery.id, one])).values()])
    }
  })),
  fault("key", "enqueueing returns the identifiers of one application", ({ deliveries }) => ({
    deliveries: {
      enqueue: (outgoing) =>
        Effect.gen(function*() {
          const all = yield* Effect.forEach(yield* deliveries.enqueue(outgoing), deliveries.find)
          const queued = all.flatMap(Option.toArray)
          return queued.filter((one) => one.applicationId === queued[0]?.applicationId).map(({ id }) => id)
        })
    }
  })),
  fault("field", "a save of a registration that was never inserted is ignored", ({ registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.flatMap(
          registrations.find(next.id),
          (found) => Option.isNone(found) ? Effect.void : registrations.save(next, outgoing)
        )
    }
  })),
  fault("find", "suspended applications are not on the list of all", ({ applications }) => ({
    applications: {
      list: (request) =>
        Effect.map(
          applications.list(request),
          (found) => Option.isNone(request.owner) ? found.filter(({ state }) => state !== "suspended") : found
        )
    }
  }))
]

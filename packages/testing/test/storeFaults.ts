/** Faults for copies of any stores: each turns good stores into bad ones, out of the good ones' own operations. */
import { ApplicationStore } from "@startlist/core/Application"
import { type Delivery, DeliveryStore } from "@startlist/core/Delivery"
import { type Claimed, DeliveryQueue } from "@startlist/core/DeliveryQueue"
import { Audience, type Outgoing } from "@startlist/core/Event"
import type { Grant } from "@startlist/core/Grant"
import { GrantStore } from "@startlist/core/GrantStore"
import { RegistrationStore } from "@startlist/core/Registration"
import { TokenHash } from "@startlist/core/Secrets"
import { Conflict } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { type Subscription, SubscriptionStore } from "@startlist/core/Subscription"
import { Context, DateTime, Effect, Option } from "effect"

export interface StoreFault {
  readonly name: string
  readonly kind: "torn" | "race" | "find" | "handle" | "field" | "key" | "time"
  readonly plant: (stores: Context.Context<Stores>) => Context.Context<Stores>
}

/** The grant that is stored in place of this one. */
const grantOf = (grants: GrantStore.Service, { applicationId, userId }: Grant) =>
  Effect.map(grants.find(applicationId, userId), Option.map(({ grant }) => grant))

interface All {
  readonly applications: ApplicationStore.Service
  readonly deliveries: DeliveryQueue.Service & DeliveryStore.Service
  readonly grants: GrantStore.Service
  readonly registrations: RegistrationStore.Service
  readonly subscriptions: SubscriptionStore.Service
}

type Changes = { readonly [K in keyof All]?: Partial<All[K]> }

export const fault = (kind: StoreFault["kind"], name: string, change: (all: All) => Changes): StoreFault => ({
  kind,
  name,
  plant: (stores) => {
    const all: All = {
      applications: Context.get(stores, ApplicationStore),
      deliveries: { ...Context.get(stores, DeliveryQueue), ...Context.get(stores, DeliveryStore) },
      grants: Context.get(stores, GrantStore),
      registrations: Context.get(stores, RegistrationStore),
      subscriptions: Context.get(stores, SubscriptionStore)
    }
    const { applications, deliveries, grants, registrations, subscriptions } = change(all)
    return stores.pipe(
      Context.add(ApplicationStore, { ...all.applications, ...applications }),
      Context.add(DeliveryQueue, { ...all.deliveries, ...deliveries }),
      Context.add(DeliveryStore, { ...all.deliveries, ...deliveries }),
      Context.add(GrantStore, { ...all.grants, ...grants }),
      Context.add(RegistrationStore, { ...all.registrations, ...registrations }),
      Context.add(SubscriptionStore, { ...all.subscriptions, ...subscriptions })
    )
  }
})

const untraced = <A extends Pick<Outgoing, "event">>(told: A): A => ({
  ...told,
  event: { ...told.event, trace: Option.none() }
})

const unnumbered = <A extends Pick<Outgoing, "event">>(told: A): A => ({
  ...told,
  event: { ...told.event, sequence: 0 }
})

const isOf = (tag: Outgoing["audience"]["_tag"]) => ({ audience }: Outgoing): boolean => audience._tag === tag

const torn: ReadonlyArray<StoreFault> = [
  fault("torn", "a grant is saved, and then its events", ({ deliveries, grants }) => ({
    grants: {
      save: ({ grant, outgoing }) => Effect.zipRight(grants.save({ grant, outgoing: [] }), deliveries.enqueue(outgoing))
    }
  })),
  fault("torn", "the events of a grant are queued, and then it is saved", ({ deliveries, grants }) => ({
    grants: {
      save: ({ grant, outgoing }) =>
        Effect.flatMap(
          grants.find(grant.applicationId, grant.userId),
          (found) =>
            Option.match(found, { onNone: () => 0, onSome: (present) => present.grant.version }) !== grant.version - 1
              ? new Conflict()
              : Effect.zipRight(deliveries.enqueue(outgoing), grants.save({ grant, outgoing: [] }))
        )
    }
  })),
  fault("torn", "the second event of a grant is queued after the first", ({ deliveries, grants }) => ({
    grants: {
      save: ({ grant, outgoing }) =>
        Effect.zipRight(
          grants.save({ grant, outgoing: outgoing.slice(0, 1) }),
          deliveries.enqueue(outgoing.slice(1))
        )
    }
  })),
  fault("torn", "the event of a revocation comes after it", ({ deliveries, grants }) => ({
    grants: {
      save: (change) =>
        change.grant.status === "active"
          ? grants.save(change)
          : Effect.zipRight(grants.save({ ...change, outgoing: [] }), deliveries.enqueue(change.outgoing))
    }
  })),
  fault("torn", "the events of a first save come after it", ({ deliveries, grants }) => ({
    grants: {
      save: (change) =>
        change.grant.version > 1
          ? grants.save(change)
          : Effect.zipRight(grants.save({ ...change, outgoing: [] }), deliveries.enqueue(change.outgoing))
    }
  })),
  fault("torn", "a registration is saved, and then its events", ({ deliveries, registrations }) => ({
    registrations: {
      save: (next, outgoing) => Effect.zipRight(registrations.save(next, []), deliveries.enqueue(outgoing))
    }
  })),
  fault("torn", "the events of a registration are queued, and then it is saved", ({ deliveries, registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.flatMap(
          registrations.find(next.id),
          (found) =>
            Option.exists(found, ({ version }) => version === next.version - 1)
              ? Effect.zipRight(deliveries.enqueue(outgoing), registrations.save(next, []))
              : new Conflict()
        )
    }
  })),
  fault("torn", "events for those who have granted come after the save", ({ deliveries, registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.zipRight(
          registrations.save(next, outgoing.filter(isOf("Application"))),
          deliveries.enqueue(outgoing.filter(isOf("GrantedBy")))
        )
    }
  })),
  fault("torn", "events for one application come after the save", ({ deliveries, registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.zipRight(
          registrations.save(next, outgoing.filter(isOf("GrantedBy"))),
          deliveries.enqueue(outgoing.filter(isOf("Application")))
        )
    }
  })),
  fault("torn", "events are enqueued one by one", ({ deliveries }) => ({
    deliveries: {
      enqueue: (outgoing) =>
        Effect.map(Effect.forEach(outgoing, (one) => deliveries.enqueue([one])), (ids) => ids.flat())
    }
  })),
  fault("torn", "attempts are recorded one by one", ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        Effect.map(Effect.forEach(settlements, (one) => deliveries.settle([one])), (ids) => ids.flat())
    }
  })),
  fault("torn", "claims are released one by one", ({ deliveries }) => ({
    deliveries: {
      release: (claims, dueAt) =>
        Effect.map(Effect.forEach(claims, (one) => deliveries.release([one], dueAt)), (ids) => ids.flat())
    }
  })),
  fault("torn", "a subscription is gone, and then its deliveries are cancelled", ({ subscriptions }) => {
    const gone = new Set<number>()
    return {
      subscriptions: {
        findByApplication: (id) =>
          Effect.map(subscriptions.findByApplication(id), Option.filter((one) => !gone.has(one.id))),
        remove: (id, now) => Effect.zipRight(Effect.sync(() => gone.add(id)), subscriptions.remove(id, now))
      }
    }
  }),
  fault("torn", "deliveries are cancelled, and then their subscription is gone", ({ subscriptions }) => {
    const inserted = new Map<number, Subscription>()
    const kept = new Map<number, Subscription>()
    return {
      subscriptions: {
        insert: (next) => Effect.tap(subscriptions.insert(next), (one) => Effect.sync(() => inserted.set(one.id, one))),
        findByApplication: (id) =>
          Effect.map(subscriptions.findByApplication(id), Option.orElse(() => Option.fromNullable(kept.get(id)))),
        remove: (id, now) =>
          Effect.suspend(() => {
            const one = inserted.get(id)
            if (one !== undefined) kept.set(one.applicationId, one)
            return Effect.tap(
              subscriptions.remove(id, now),
              () => Effect.sync(() => one !== undefined && kept.delete(one.applicationId))
            )
          })
      }
    }
  }),
  fault(
    "torn",
    "the second and later deliveries of a removed subscription are cancelled later",
    ({ deliveries, subscriptions }) => {
      const late = new Set<number>()
      const shown = (one: Delivery): Delivery =>
        late.has(one.subscriptionId) && one.event.objectId !== 1 && one.state === "cancelled"
          ? { ...one, state: "pending", endedAt: Option.none() }
          : one
      return {
        deliveries: {
          find: (id) => Effect.map(deliveries.find(id), Option.map(shown)),
          list: (filter) => Effect.map(deliveries.list(filter), (found) => found.map(shown))
        },
        subscriptions: {
          remove: (id, now) =>
            Effect.sync(() => late.add(id)).pipe(
              Effect.zipRight(subscriptions.remove(id, now)),
              Effect.zipLeft(Effect.sync(() => late.delete(id)))
            )
        }
      }
    }
  ),
  fault("torn", "the state of a delivery is recorded, and then its attempts", ({ deliveries }) => {
    const late = new Set<number>()
    const shown = (one: Delivery): Delivery => late.has(one.id) ? { ...one, attempts: [] } : one
    return {
      deliveries: {
        find: (id) => Effect.map(deliveries.find(id), Option.map(shown)),
        settle: (settlements) => {
          const ids = settlements.map(({ delivery }) => delivery.id)
          return Effect.sync(() => ids.forEach((id) => late.add(id))).pipe(
            Effect.zipRight(deliveries.settle(settlements)),
            Effect.zipLeft(Effect.sync(() => ids.forEach((id) => late.delete(id))))
          )
        }
      }
    }
  })
]

/** Checks the version first, and then writes over whatever is there. */
const readThenWrite = <A extends { readonly version: number }>(
  next: A,
  find: Effect.Effect<Option.Option<A>, unknown>,
  save: (next: A) => Effect.Effect<void, unknown>
): Effect.Effect<void, never> => {
  const force = (version: number): Effect.Effect<void, unknown> =>
    Effect.catchAll(save({ ...next, version }), () => version > next.version + 20 ? Effect.void : force(version + 1))
  return Effect.flatMap(
    find,
    (found) =>
      Option.match(found, { onNone: () => 0, onSome: ({ version }) => version }) === next.version - 1
        ? force(next.version)
        : Effect.fail(new Conflict())
  ) as Effect.Effect<void, never>
}

const races: ReadonlyArray<StoreFault> = [
  fault("race", "the version of a grant is checked, and then it is written", ({ grants }) => ({
    grants: {
      save: ({ grant, outgoing }) =>
        readThenWrite(
          grant,
          grantOf(grants, grant),
          (next) => grants.save({ grant: next, outgoing })
        )
    }
  })),
  fault("race", "the version of an application is checked, and then it is written", ({ applications }) => ({
    applications: {
      save: (next) => readThenWrite(next, applications.find(next.id), (one) => applications.save(one))
    }
  })),
  fault("race", "the version of a registration is checked, and then it is written", ({ registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        readThenWrite(next, registrations.find(next.id), (one) => registrations.save(one, outgoing))
    }
  })),
  fault("race", "the version of a subscription is checked, and then it is written", ({ subscriptions }) => ({
    subscriptions: {
      save: (next) =>
        readThenWrite(next, subscriptions.findByApplication(next.applicationId), (one) => subscriptions.save(one))
    }
  })),
  fault("race", "whether an application is subscribed is checked, and then it is", ({ subscriptions }) => ({
    subscriptions: {
      insert: (next) =>
        Effect.flatMap(subscriptions.findByApplication(next.applicationId), (found) =>
          Option.isSome(found)
            ? subscriptions.insert(next)
            : Effect.catchTag(subscriptions.insert(next), "AlreadySubscribed", () =>
              Effect.flatMap(subscriptions.findByApplication(next.applicationId), (one) =>
                Option.isSome(one) ? Effect.succeed(one.value) : subscriptions.insert(next))))
    }
  })),
  fault("race", "a removal is answered by what was there before it", ({ deliveries, subscriptions }) => {
    const known = new Set<number>()
    const gone = new Set<number>()
    return {
      subscriptions: {
        insert: (next) => Effect.tap(subscriptions.insert(next), ({ id }) => Effect.sync(() => known.add(id))),
        remove: (id, now) =>
          Effect.gen(function*() {
            const isThere = known.has(id) && !gone.has(id)
            yield* deliveries.settle([])
            yield* subscriptions.remove(id, now)
            gone.add(id)
            return isThere
          })
      }
    }
  }),
  fault("race", "claims at the same time get the same", ({ deliveries }) => {
    let running: Promise<ReadonlyArray<Claimed>> | undefined
    return {
      deliveries: {
        claim: (request) =>
          Effect.flatMap(Effect.runtime<never>(), () =>
            Effect.promise(() => {
              running ??= Effect.runPromise(deliveries.claim(request)).finally(() => {
                running = undefined
              })
              return running
            }))
      }
    }
  }),
  fault("race", "a settlement is answered by what was there before it", ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        Effect.gen(function*() {
          const before = yield* Effect.forEach(settlements, ({ delivery }) => deliveries.find(delivery.id))
          const recorded = yield* deliveries.settle(settlements)
          const pending = before.flatMap(Option.toArray).filter(({ state }) => state === "pending").map(({ id }) => id)
          return recorded.length > 0 ? recorded : settlements.length === 1 && isUsual(settlements) ? pending : recorded
        })
    }
  })),
  fault("race", "a delivery again is answered by what was there before it", ({ deliveries, subscriptions }) => ({
    deliveries: {
      again: (told, now) =>
        Effect.flatMap(
          subscriptions.findByApplication(told.applicationId),
          (found) =>
            Option.exists(found, ({ id }) => id === told.subscriptionId)
              ? Effect.zipRight(
                deliveries.enqueue([{
                  event: { ...told.event, time: now },
                  audience: { _tag: "Application", applicationId: told.applicationId }
                }]),
                deliveries.again(told, now)
              )
              : Effect.succeedNone
        )
    }
  })),
  fault("race", "what ended is counted, and then purged", ({ deliveries }) => ({
    deliveries: {
      purge: (before, limit) =>
        Effect.gen(function*() {
          const filter = { applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 100_000 }
          const ended = (yield* deliveries.list(filter)).filter(({ endedAt }) =>
            Option.exists(endedAt, (at) => at.epochMillis <= before.epochMillis)
          )
          yield* deliveries.purge(before, limit)
          return Math.min(ended.length, limit)
        })
    }
  }))
]

/** Whether a worker made the settlement, not a law about wrong tokens. */
const isUsual = (settlements: ReadonlyArray<{ readonly token: string }>): boolean =>
  settlements.every(({ token }) => token.startsWith("claim-"))

/** A record of the first find, with some of its fields from a second one. */
const mixed = <A extends object>(
  find: Effect.Effect<Option.Option<A>, never>,
  fields: ReadonlyArray<keyof A>
): Effect.Effect<Option.Option<A>, never> =>
  Effect.zipWith(find, find, (one, two) =>
    Option.zipWith(one, two, (first, second) => {
      const result = { ...first }
      for (const field of fields) result[field] = second[field]
      return result
    }))

const finds: ReadonlyArray<StoreFault> = [
  fault("find", "a grant is found, and then its tokens", ({ grants }) => ({
    grants: {
      find: (app, user) =>
        Effect.zipWith(
          grants.find(app, user),
          grants.find(app, user),
          (one, two) =>
            Option.zipWith(one, two, ({ application, grant }, { grant: { access, codes, refresh } }) => ({
              application,
              grant: { ...grant, access, codes, refresh }
            }))
        )
    }
  })),
  fault("find", "a user's grants are found, and then their scopes", ({ grants }) => ({
    grants: {
      listByUser: (user) =>
        Effect.zipWith(
          grants.listByUser(user),
          grants.listByUser(user),
          (one, two) => one.map((grant, place) => ({ ...grant, scope: two[place]?.scope ?? grant.scope }))
        )
    }
  })),
  fault("find", "an application is found, and then its secrets", ({ applications }) => ({
    applications: { find: (id) => mixed(applications.find(id) as never, ["secrets"] as never) }
  })),
  fault("find", "a registration is found, and then its updates", ({ registrations }) => ({
    registrations: { find: (id) => mixed(registrations.find(id) as never, ["updates"] as never) }
  })),
  fault("find", "signing secrets are found, and then their values", ({ applications }) => ({
    applications: {
      findSigningSecrets: (id) => mixed(applications.findSigningSecrets(id) as never, ["secrets"] as never)
    }
  })),
  fault("find", "a delivery is found, and then its attempts", ({ deliveries }) => ({
    deliveries: { find: (id) => mixed(deliveries.find(id) as never, ["attempts"] as never) }
  })),
  fault("find", "an old answer is given while a new one is fetched", ({ applications }) => {
    const last = new Map<number, Effect.Effect.Success<ReturnType<typeof applications.find>>>()
    return {
      applications: {
        find: (id) =>
          Effect.gen(function*() {
            const known = last.get(id)
            const found = yield* applications.find(id)
            last.set(id, found)
            return known ?? found
          })
      }
    }
  })
]

/** Answers of this handle, kept until this handle saves. */
const cached = <K, A>(find: (key: K) => Effect.Effect<Option.Option<A>, never>) => {
  const known = new Map<string, Option.Option<A>>()
  return {
    forget: (key: K) => Effect.sync(() => known.delete(JSON.stringify(key))),
    find: (key: K) =>
      Effect.suspend(() => {
        const found = known.get(JSON.stringify(key))
        if (found !== undefined) return Effect.succeed(found)
        return Effect.tap(find(key), (one) =>
          Effect.sync(() => Option.isSome(one) && known.set(JSON.stringify(key), one)))
      })
  }
}

const handles: ReadonlyArray<StoreFault> = [
  fault("handle", "each handle remembers applications", ({ applications }) => {
    const { find, forget } = cached(applications.find as never)
    return {
      applications: {
        find: find as never,
        save: (next) => Effect.ensuring(applications.save(next), forget(next.id as never))
      }
    }
  }),
  fault("handle", "each handle remembers grants", ({ grants }) => {
    const { find, forget } = cached((key: readonly [never, never]) => grants.find(...key) as never)
    return {
      grants: {
        find: (app, user) => find([app as never, user as never]) as never,
        save: (change) =>
          Effect.ensuring(
            grants.save(change),
            forget([change.grant.applicationId as never, change.grant.userId as never])
          )
      }
    }
  }),
  fault("handle", "each handle remembers registrations", ({ registrations }) => {
    const { find, forget } = cached(registrations.find as never)
    return {
      registrations: {
        find: find as never,
        save: (next, outgoing) => Effect.ensuring(registrations.save(next, outgoing), forget(next.id as never))
      }
    }
  }),
  fault("handle", "each handle remembers that an application has no subscription", ({ subscriptions }) => {
    const none = new Set<number>()
    return {
      subscriptions: {
        findByApplication: (id) =>
          none.has(id) ?
            Effect.succeedNone :
            Effect.tap(subscriptions.findByApplication(id), (found) =>
              Effect.sync(() => {
                if (Option.isNone(found)) none.add(id)
              })),
        insert: (next) =>
          Effect.zipLeft(
            subscriptions.insert(next),
            Effect.sync(() => none.delete(next.applicationId))
          )
      }
    }
  }),
  fault("handle", "each handle remembers deliveries that have ended", ({ deliveries }) => {
    const known = new Map<number, Delivery>()
    return {
      deliveries: {
        find: (id) =>
          Effect.suspend(() => {
            const found = known.get(id)
            return found === undefined
              ? Effect.tap(deliveries.find(id), (one) =>
                Effect.sync(() => Option.isSome(one) && known.set(id, one.value)))
              : Effect.succeedSome(found)
          }),
        settle: (settlements) =>
          Effect.ensuring(
            deliveries.settle(settlements),
            Effect.sync(() => settlements.forEach(({ delivery }) => known.delete(delivery.id)))
          )
      }
    }
  }),
  fault("handle", "a lock of the process stands in for the version of a grant", ({ grants }) => {
    let last = Promise.resolve()
    return {
      grants: {
        save: (change) =>
          Effect.async((resume) => {
            last = last.then(() =>
              Effect.runPromiseExit(readThenWrite(
                change.grant,
                grantOf(grants, change.grant),
                (grant) => grants.save({ ...change, grant })
              ))
            ).then((exit) => resume(exit))
          })
      }
    }
  }),
  fault("handle", "saves of applications are acknowledged before they are written", ({ applications }) => {
    const pending = new Map<number, Effect.Effect.Success<ReturnType<typeof applications.find>>>()
    return {
      applications: {
        find: (id) =>
          Effect.suspend(() => {
            const found = pending.get(id)
            return found === undefined ? applications.find(id) : Effect.succeed(found)
          }),
        save: (next) =>
          Effect.gen(function*() {
            const found = pending.get(next.id) ?? (yield* applications.find(next.id))
            if (!Option.exists(found, ({ version }) => version === next.version - 1)) return yield* new Conflict()
            pending.set(next.id, Option.some(next))
            yield* Effect.forkDaemon(Effect.delay(Effect.ignore(applications.save(next)), "20 millis"))
          })
      }
    }
  })
]

const shortened = (millis: number) => (instant: DateTime.Utc): DateTime.Utc =>
  DateTime.unsafeMake(Math.floor(instant.epochMillis / millis) * millis)

const changedGrant = (name: string, change: (grant: Grant) => Grant): StoreFault =>
  fault("field", name, ({ grants }) => ({
    grants: { save: ({ grant, outgoing }) => grants.save({ grant: change(grant), outgoing }) }
  }))

const changedDelivery = (name: string, change: (delivery: Delivery) => Delivery): StoreFault =>
  fault("field", name, ({ deliveries }) => ({
    deliveries: {
      settle: (settlements) =>
        deliveries.settle(settlements.map(({ delivery, token }) => ({ delivery: change(delivery), token })))
    }
  }))

const fields: ReadonlyArray<StoreFault> = [
  changedGrant("a grant is granted at a whole second", (grant) => ({
    ...grant,
    grantedAt: shortened(1000)(grant.grantedAt)
  })),
  changedGrant("a grant has no salt", (grant) => ({
    ...grant,
    refresh: Option.map(grant.refresh, (one) => ({ ...one, salt: "none" }))
  })),
  changedGrant("a code is never used", (grant) => ({
    ...grant,
    codes: grant.codes.map((code) => ({ ...code, redeemed: Option.none() }))
  })),
  changedGrant("a used code forgets its line", (grant) => ({
    ...grant,
    codes: grant.codes.map((code) => ({ ...code, redeemed: Option.map(code.redeemed, (one) => ({ ...one, line: 0 })) }))
  })),
  changedGrant("the present line began with the current token", (grant) => ({
    ...grant,
    lineStart: grant.generation
  })),
  changedGrant("the state of a code has at most 1000 characters", (grant) => ({
    ...grant,
    codes: grant.codes.map((code) => ({ ...code, state: Option.map(code.state, (text) => text.slice(0, 1000)) }))
  })),
  changedGrant("scopes are sorted", (grant) => ({ ...grant, scope: [...grant.scope].sort() })),
  changedGrant(
    "a grant has an epoch of at most 32 767",
    (grant) => ({ ...grant, epoch: Math.min(grant.epoch, 32_767) })
  ),
  changedGrant("fingerprints are lower case", (grant) => ({
    ...grant,
    codes: grant.codes.map((code) => ({ ...code, hash: TokenHash.make(code.hash.toLowerCase()) }))
  })),
  changedDelivery("the detail of an attempt has at most 100 characters", (one) => ({
    ...one,
    attempts: one.attempts.map((attempt) => ({ ...attempt, detail: attempt.detail.slice(0, 100) }))
  })),
  changedDelivery("an attempt is at a whole second", (one) => ({
    ...one,
    attempts: one.attempts.map((attempt) => ({ ...attempt, at: shortened(1000)(attempt.at) }))
  })),
  changedDelivery("a delivery ends at a whole second", (one) => ({
    ...one,
    endedAt: Option.map(one.endedAt, shortened(1000))
  })),
  changedDelivery("a delivery is due at a whole second", (one) => ({ ...one, dueAt: shortened(1000)(one.dueAt) })),
  changedDelivery(
    "attempts of what is tried again are lost",
    (one) => one.state === "pending" ? { ...one, attempts: [] } : one
  ),
  fault("field", "an application keeps its owner", ({ applications }) => ({
    applications: {
      save: (next) =>
        Effect.flatMap(applications.find(next.id), (found) =>
          applications.save(Option.match(found, {
            onNone: () => next,
            onSome: ({ ownerId }) => ({ ...next, ownerId })
          })))
    }
  })),
  fault("field", "a registration keeps its parties", ({ registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        Effect.flatMap(registrations.find(next.id), (found) =>
          registrations.save(
            Option.match(found, { onNone: () => next, onSome: ({ parties }) => ({ ...next, parties }) }),
            outgoing
          ))
    }
  })),
  fault("field", "a comment has at most 1000 characters", ({ registrations }) => ({
    registrations: {
      save: (next, outgoing) =>
        registrations.save(
          { ...next, updates: { ...next.updates, comment: next.updates.comment.slice(0, 1000) } },
          outgoing
        )
    }
  })),
  fault("field", "the trace of an event is lost when a change of a registration is saved", ({ registrations }) => ({
    registrations: { save: (next, outgoing) => registrations.save(next, outgoing.map(untraced)) }
  })),
  fault("field", "a claim does not read the trace of an event", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        Effect.map(
          deliveries.claim(request),
          (claims) => claims.map((claimed) => ({ ...claimed, delivery: untraced(claimed.delivery) }))
        )
    }
  })),
  fault("field", "the sequence of an event is lost when a change of a registration is saved", ({ registrations }) => ({
    registrations: { save: (next, outgoing) => registrations.save(next, outgoing.map(unnumbered)) }
  })),
  fault("field", "a delivery again has the sequence of another event", ({ deliveries }) => ({
    deliveries: {
      again: (delivery, now) => Effect.map(deliveries.again(delivery, now), Option.map(unnumbered))
    }
  })),
  fault("field", "a subscription keeps the time of its first save", ({ subscriptions }) => ({
    subscriptions: { save: (next) => subscriptions.save({ ...next, updatedAt: next.createdAt }) }
  })),
  fault("field", "a delivery again is in the log of events", ({ deliveries }) => ({
    deliveries: {
      again: ({ applicationId, event }, now) =>
        Effect.gen(function*() {
          const audience = Audience.Application({ applicationId })
          const [id] = yield* deliveries.enqueue([{ event: { ...event, time: now }, audience }])
          return id === undefined ? Option.none() : yield* deliveries.find(id)
        })
    }
  })),
  fault("field", "the log of events has only what is pending", ({ deliveries }) => ({
    deliveries: {
      log: (request) =>
        Effect.map(deliveries.log(request), (page) => page.filter(({ delivery }) => delivery.state === "pending"))
    }
  })),
  fault("field", "an unknown position of the log is its end", ({ deliveries }) => ({
    deliveries: {
      log: (request) => Effect.catchTag(deliveries.log(request), "UnknownPosition", () => Effect.succeed([]))
    }
  })),
  fault("race", "the log skips what is committed behind a later number", ({ deliveries }) => {
    const late = new Set<number>()
    return {
      deliveries: {
        log: (request) =>
          Effect.map(
            deliveries.log({ ...request, limit: request.limit + 1 }),
            (page) =>
              page.filter(({ position }, place) => {
                const isLate = position % 3 === 0 && place < page.length - 1 && !late.has(position)
                if (isLate) late.add(position)
                return !isLate
              }).slice(0, request.limit)
          )
      }
    }
  }),
  fault("field", "a signing secret has no end", ({ applications }) => ({
    applications: {
      saveSigningSecrets: (next) =>
        applications.saveSigningSecrets({
          ...next,
          secrets: next.secrets.map((one) => ({ ...one, expiresAt: Option.none() }))
        })
    }
  }))
]

const others: ReadonlyArray<StoreFault> = [
  fault("key", "application and user are joined without a mark between them", ({ grants }) => {
    const first = new Map<string, Parameters<typeof grants.find>>()
    const keyOf = (...[app, user]: Parameters<typeof grants.find>) => {
      const key = first.get(`${app}${user}`) ?? [app, user]
      first.set(`${app}${user}`, key)
      return key
    }
    return {
      grants: {
        find: (app, user) => grants.find(...keyOf(app, user)),
        save: ({ grant, outgoing }) => {
          const [applicationId, userId] = keyOf(grant.applicationId, grant.userId)
          return grants.save({ grant: { ...grant, applicationId, userId }, outgoing })
        }
      }
    }
  }),
  fault("key", "user and application are added up", ({ grants }) => {
    const first = new Map<number, Parameters<typeof grants.find>>()
    const keyOf = (...[app, user]: Parameters<typeof grants.find>) => {
      const key = first.get(app + user) ?? [app, user]
      first.set(app + user, key)
      return key
    }
    return { grants: { find: (app, user) => grants.find(...keyOf(app, user)) } }
  }),
  fault("time", "what is due is due by the clock of the store", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        deliveries.claim({
          ...request,
          now: DateTime.max(request.now, DateTime.unsafeNow()),
          leaseEnds: DateTime.max(request.leaseEnds, DateTime.add(DateTime.unsafeNow(), { seconds: 15 }))
        })
    }
  })),
  fault("time", "a lease ends fifteen seconds from now, by the clock of the store", ({ deliveries }) => ({
    deliveries: {
      claim: (request) =>
        deliveries.claim({ ...request, leaseEnds: DateTime.add(DateTime.unsafeNow(), { seconds: 15 }) })
    }
  })),
  fault("time", "a purge goes by the time at which a delivery was due", ({ deliveries }) => {
    const gone = new Set<number>()
    return {
      deliveries: {
        list: (filter) => Effect.map(deliveries.list(filter), (found) => found.filter(({ id }) => !gone.has(id))),
        purge: (before, limit) =>
          Effect.gen(function*() {
            const filter = { applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 100_000 }
            for (const { dueAt, id, state } of yield* deliveries.list(filter)) {
              if (state === "pending" && dueAt.epochMillis <= before.epochMillis) gone.add(id)
            }
            return yield* deliveries.purge(before, limit)
          })
      }
    }
  }),
  fault("field", "what is pending is not delivered again", ({ deliveries }) => ({
    deliveries: {
      again: (told, now) => told.state === "pending" ? Effect.succeedNone : deliveries.again(told, now)
    }
  }))
]

export const storeFaults: ReadonlyArray<StoreFault> = [...torn, ...races, ...finds, ...handles, ...fields, ...others]

/** What all parts of a simulation share: the true stores, the checkers, and the audit after every write. */
import type { Delivery } from "@startlist/core/Delivery"
import { DeliveryStore } from "@startlist/core/Delivery"
import { DeliveryQueue } from "@startlist/core/DeliveryQueue"
import type { Outgoing } from "@startlist/core/Event"
import { asOf } from "@startlist/core/Grant"
import { GrantStore } from "@startlist/core/GrantStore"
import type { Stores } from "@startlist/core/Stores"
import { OAuth } from "@startlist/core/OAuth"
import type { Policy } from "@startlist/core/Policy"
import { RegistrationStore } from "@startlist/core/Registration"
import type { StoreError } from "@startlist/core/Store"
import { type SubscriptionId, SubscriptionStore } from "@startlist/core/Subscription"
import type { UserStore } from "@startlist/core/User"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Node as Process, VirtualTime } from "../../VirtualTime.ts"
import type { AttemptChecker } from "./AttemptChecker.ts"
import type { DeliveryChecker } from "./DeliveryChecker.ts"
import type { History } from "./History.ts"
import type { SubscriptionChecker } from "./SubscriptionChecker.ts"
import type { Issued, Pair, TokenChecker } from "./TokenChecker.ts"

export interface SimulationContext {
  readonly seed: number
  readonly time: VirtualTime.Service
  readonly policy: Policy.Service
  /** Whether clients repeat an exchange or a refresh that is not answered, with the same `Idempotency-Key`. */
  readonly retries: boolean
  readonly history: History
  readonly subscriptions: SubscriptionChecker
  readonly deliveries: DeliveryChecker
  readonly attempts: AttemptChecker
  readonly tokens: TokenChecker
  readonly users: UserStore.Service
  /** The stores themselves, reached without a network. */
  readonly stores: Context.Context<Stores>
  /** Sees whether a token is good, without a network, at the true time. */
  readonly oracle: OAuth.Service
  /** What is neither a node nor the simulation: requests on their way. It never dies. */
  readonly wire: Process
  /** One write at a time, with its audit. A write that has left a node comes to its end, also when the node dies. */
  readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** When something went wrong last, anywhere: a fault, or a node that was away. */
  lastFault: number
  /** Since when each receiver answers at once; infinite if it does not. */
  readonly goodSince: Map<string, number>
}

/** Reads what the store holds of the deliveries that may have changed, and compares it with what must be. */
export const audit = (context: SimulationContext): Effect.Effect<ReadonlyArray<Delivery>, StoreError> =>
  Effect.gen(function*() {
    const store = Context.get(context.stores, DeliveryStore)
    const { attempts, deliveries } = context
    const see = (delivery: Delivery) => {
      for (const attempt of deliveries.observed(delivery)) attempts.recorded(delivery, attempt)
    }
    const news: Array<Delivery> = []
    let after: Delivery["id"] | undefined
    while (true) {
      const limit = 20
      const filter = { applicationId: Option.none(), state: Option.none(), after: Option.fromNullable(after), limit }
      const page = yield* store.list(filter)
      const unknown = page.filter(({ id }) => !deliveries.has(id))
      news.unshift(...[...unknown].reverse())
      after = page.at(-1)?.id
      if (unknown.length < limit) break
    }
    for (const { id } of deliveries.pending.values()) {
      const found = yield* store.find(id)
      context.history.check(4, Option.isSome(found), `delivery ${id} was pending and is gone`)
      if (Option.isSome(found)) see(found.value)
    }
    for (const delivery of news) {
      see(delivery)
      yield* watchOver(context, delivery)
    }
    return news
  })

/** How soon a delivery is attempted that nothing holds up: a slot may be held for the time of a callback. */
const soon = Duration.seconds(10)

/** Law 9: a delivery to a receiver that answers is attempted soon, whatever others do, while nothing goes wrong. */
const watchOver = (context: SimulationContext, delivery: Delivery): Effect.Effect<void> => {
  const { attempts, deliveries, history, subscriptions } = context
  const subscription = subscriptions.get(delivery.subscriptionId)
  if (subscription === undefined || delivery.state !== "pending") return Effect.void
  if (deliveries.before(delivery).length > 0) return Effect.void
  const since = history.now()
  const isGood = () => {
    const quiet = Math.max(context.lastFault, context.goodSince.get(subscription.subscription.callbackUrl) ?? 0)
    return quiet + Duration.toMillis("2 minutes") < since && !subscription.isRemoved
  }
  if (!isGood()) return Effect.void
  const check = Effect.sync(() => {
    if (!isGood() || delivery.event.time.epochMillis + 3_600_000 < 0) return
    history.count("watched")
    history.check(
      9,
      attempts.wasSent(delivery),
      `delivery ${delivery.id} waits for ${Duration.format(soon)}, its receiver answers, and nothing went wrong`
    )
  })
  return Effect.asVoid(context.time.on(context.wire)(Effect.forkDaemon(Effect.delay(check, soon))))
}

/** Every subscription that an event concerns, as the store has it now. */
const concerned = (context: SimulationContext, { audience }: Outgoing) =>
  Effect.gen(function*() {
    const grants = Context.get(context.stores, GrantStore)
    const ids = new Set<SubscriptionId>()
    for (const { applicationId, id } of context.subscriptions.present()) {
      if (audience._tag === "Application") {
        if (audience.applicationId === applicationId) ids.add(id)
        continue
      }
      for (const userId of audience.userIds) {
        const grant = yield* grants.find(applicationId, userId)
        if (Option.exists(grant, (found) => asOf(found).status === "active")) ids.add(id)
      }
    }
    return ids
  })

const auditOutgoing = (context: SimulationContext, outgoing: ReadonlyArray<Outgoing>) =>
  Effect.gen(function*() {
    yield* audit(context)
    for (const one of outgoing) context.deliveries.saved(one.event, yield* concerned(context, one))
  })

/** Law 2: no node accepts these, now or ever. */
export const mustBeDead = (
  context: SimulationContext,
  pair: Pair,
  dead: ReadonlyArray<Issued>
): Effect.Effect<void, StoreError> =>
  Effect.forEach(dead, ({ access, refresh }) =>
    Effect.gen(function*() {
      const accepted = yield* Effect.either(context.oracle.authenticate(access))
      const known = yield* context.oracle.introspect(refresh, Option.none())
      if (accepted._tag === "Left" && accepted.left._tag === "StoreError") return yield* accepted.left
      const name = `application ${pair.application} and user ${pair.user}`
      context.history.check(2, accepted._tag === "Left", `${name}: a revoked access token is accepted`)
      context.history.check(2, Option.isNone(known), `${name}: a revoked refresh token is current`)
    }), { discard: true })

/** Law 1: of all refresh tokens that were answered at most one is current. */
const atMostOneCurrent = (context: SimulationContext, pair: Pair) =>
  Effect.gen(function*() {
    let current = 0
    for (const { refresh } of pair.issued.slice(-20)) {
      if (Option.isSome(yield* context.oracle.introspect(refresh, Option.none()))) current++
    }
    context.history.check(
      1,
      current <= 1,
      `application ${pair.application} and user ${pair.user}: ${current} refresh tokens are current`
    )
  })

/** The stores as one node reaches them, with every write on record and followed by its audit. */
export const observe = (
  context: SimulationContext,
  holder: object
): Context.Context<Stores> => {
  const { attempts, deliveries, history, stores } = context
  const grants = Context.get(stores, GrantStore)
  const registrations = Context.get(stores, RegistrationStore)
  const subscriptions = Context.get(stores, SubscriptionStore)
  const queue = Context.get(stores, DeliveryQueue)

  const then = <A, E>(write: Effect.Effect<A, E>, learn: (answer: A) => Effect.Effect<unknown, E | StoreError>) =>
    context.alone(Effect.tap(write, (answer) => {
      history.moment++
      return learn(answer)
    }))

  return stores.pipe(
    Context.add(GrantStore, {
      ...grants,
      save: (change) =>
        then(grants.save(change), () =>
          Effect.gen(function*() {
            const { applicationId, status, userId } = change.grant
            history.record(`the grant of user ${userId} to application ${applicationId} is saved, ${status}`)
            yield* auditOutgoing(context, change.outgoing)
            for (const { event } of change.outgoing) deliveries.revoked(applicationId, event)
            const pair = context.tokens.byId(applicationId, userId)
            if (pair === undefined) return
            yield* mustBeDead(context, pair, context.tokens.dead(pair))
            yield* atMostOneCurrent(context, pair)
          }))
    }),
    Context.add(RegistrationStore, {
      ...registrations,
      save: (next, outgoing) =>
        then(registrations.save(next, outgoing), () => {
          history.record(`registration ${next.id} is saved: ${next.updates.comment}`)
          deliveries.changed(next, outgoing)
          return auditOutgoing(context, outgoing)
        })
    }),
    Context.add(SubscriptionStore, {
      ...subscriptions,
      insert: (subscription) =>
        then(subscriptions.insert(subscription), (inserted) => {
          history.record(`subscription ${inserted.id} of application ${inserted.applicationId} is stored`)
          return Effect.sync(() => context.subscriptions.inserted(inserted))
        }),
      remove: (id, now) =>
        then(subscriptions.remove(id, now), () => {
          history.record(`subscription ${id} is removed`)
          context.subscriptions.removed(id)
          return audit(context)
        })
    }),
    Context.add(DeliveryQueue, {
      ...queue,
      claim: (request) =>
        then(queue.claim(request), (claimed) => Effect.sync(() => attempts.claimed(request, claimed, holder))),
      settle: (settlements) =>
        then(queue.settle(settlements), (ids) => {
          attempts.settled(settlements, ids)
          return audit(context)
        }),
      release: (claims, dueAt) =>
        then(queue.release(claims, dueAt), (ids) => Effect.sync(() => attempts.released(ids))),
      again: (original, now) => then(queue.again(original, now), () => audit(context))
    })
  )
}

/** Context of a simulation: the stores, the checkers, and the audit after every write. */
import type { Delivery } from "@startlist/core/Delivery"
import { DeliveryStore } from "@startlist/core/Delivery"
import type { Stores } from "@startlist/core/Services"
import { OAuth } from "@startlist/core/OAuth"
import type { Policy } from "@startlist/core/Policy"
import type { StoreError } from "@startlist/core/Store"
import type { UserStore } from "@startlist/core/User"
import type { TestUsers } from "@startlist/testing/TestUsers"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Node as Process, VirtualTime } from "@startlist/testing/VirtualTime"
import type { AttemptChecker } from "./AttemptChecker.ts"
import type { DeliveryChecker } from "./DeliveryChecker.ts"
import type { History } from "./History.ts"
import type { Oracle } from "./Oracle.ts"
import * as Observed from "../observe.ts"
import type { ProgramFixture } from "../programFixture.ts"

export interface SimulationContext {
  readonly seed: number
  readonly time: VirtualTime.Service
  readonly policy: Policy.Service
  readonly history: History
  readonly fixture: ProgramFixture
  readonly oracle: Oracle
  readonly deliveries: DeliveryChecker
  readonly attempts: AttemptChecker
  readonly people: Context.Context<TestUsers | UserStore>
  /** The stores themselves, reached without a network. */
  readonly stores: Context.Context<Stores>
  /** Checks tokens without a network, at the true time. */
  readonly oauth: OAuth.Service
  /** The process of requests on their way between nodes. It never dies. */
  readonly wire: Process
  /** Runs one write at a time, with its audit. A write that has left a node completes, also if the node dies. */
  readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Runs a read between two writes. */
  readonly between: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Time of the last fault, or of the last restart of a node. */
  lastFault: number
  /** Time from which each receiver answers without delay. Infinite if it does not. */
  readonly goodSince: Map<string, number>
}

/** Reads the deliveries that may have changed and checks them. */
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

/** Maximum time until an unhindered delivery is attempted: a callback may hold a slot until its timeout. */
const soon = Duration.seconds(10)

/** Law 9: without faults, a delivery to a receiver that answers is attempted soon, whatever other receivers do. */
const watchOver = (context: SimulationContext, delivery: Delivery): Effect.Effect<void> => {
  const { attempts, deliveries, history, oracle } = context
  const subscription = oracle.subscription(delivery.subscriptionId)
  if (subscription === undefined || delivery.state !== "pending") return Effect.void
  if (deliveries.before(delivery).length > 0) return Effect.void
  const since = history.now()
  const isGood = () => {
    const quiet = Math.max(context.lastFault, context.goodSince.get(subscription.subscription.callbackUrl) ?? 0)
    return quiet + Duration.toMillis("2 minutes") < since && !subscription.isRemoved && !oracle.isHeld(subscription)
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

/** Compares the deliveries that a write queued with the model. */
export const auditWrite = (context: SimulationContext, what: string, expected: ReadonlyArray<string>) =>
  Effect.map(audit(context), (news) => {
    const found = news.map((delivery) => context.oracle.describe(delivery))
    const [missing, more] = [expected.find((one) => !found.includes(one)), found.find((one) => !expected.includes(one))]
    context.history.check(4, missing === undefined, `${what} without its delivery: ${missing}`)
    context.history.check(4, more === undefined, `${what} with a delivery that nobody expects: ${more}`)
    context.history.check(4, found.length === expected.length, `${what} with a delivery twice: ${found.join(", ")}`)
  })

/** Compares the newest tokens of grants with the present state of the model (laws 1, 2 and 14). */
export const auditTokens = (context: SimulationContext, isConcerned: (grant: string) => boolean) =>
  Effect.gen(function*() {
    const { fixture, history, oauth, oracle } = context
    const expected = Observed.expected(oracle.state, history.now() / 1000)
    const places = Object.entries(oracle.state.grants).filter(([grant]) => isConcerned(grant))
      .flatMap(([grant, { refresh }]) => Object.keys(refresh).map((place) => ({ grant, place: Number(place) })))
      .sort((a, b) => a.place - b.place).slice(-20)
    for (const { grant, place } of places) {
      const { access, refresh } = fixture.pairs[place] ?? {}
      if (access === undefined || refresh === undefined) continue
      const accepted = yield* Effect.either(oauth.authenticate(access))
      if (accepted._tag === "Left" && accepted.left._tag === "@startlist/core/StoreError") return yield* accepted.left
      const isCurrent = Option.isSome(yield* oauth.introspect(refresh, Option.none()))
      const [isAccepted, mayBeAccepted] = [accepted._tag === "Right", expected.access.includes(place)]
      const mayBeCurrent = expected.refresh.includes(place)
      const what = (is: boolean) =>
        `pair ${place} of ${grant} is ${is ? "good, and must not be" : "not good, and must be"}`
      const isStanding = oracle.state.standing[Number(grant.split("/")[0])] === undefined
      history.check(isStanding ? 2 : 14, isAccepted === mayBeAccepted, `the access token of ${what(isAccepted)}`)
      const law = isCurrent && oracle.state.grants[grant]?.isAlive === true ? 1 : 2
      history.check(law, isCurrent === mayBeCurrent, `the refresh token of ${what(isCurrent)}`)
    }
  })

/**
 * Law 1c: an application that has got tokens for a user knows the current refresh token, if nobody revoked. With
 * `REPLAY=revoke`, a replay may have ended its line.
 */
export const auditConnections = (context: SimulationContext): Effect.Effect<void, StoreError> =>
  Effect.gen(function*() {
    const { fixture, history, oauth, oracle, policy } = context
    for (const [key, { isAlive, current, refresh }] of Object.entries(oracle.state.grants)) {
      const known = Object.keys(refresh).flatMap((place) => fixture.pairs[Number(place)]?.refresh ?? [])
      if (known.length === 0) continue
      history.count("connections")
      const isIn = yield* Effect.exists(
        known,
        (token) => Effect.map(oauth.introspect(token, Option.none()), Option.isSome)
      )
      if (!isIn) history.count("connections that a replay ended")
      const isAllowed = policy.replay === "revoke" && isAlive && current === null
      history.check(1, isIn || isAllowed, `user and application ${key} are signed out, and nobody revoked`)
    }
  })

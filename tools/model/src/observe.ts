/** Observations of the system from outside, and those that the model expects. Records are numbered as they appear. */
import { DeliveryStore } from "@startlist/core/Delivery"
import { OAuth } from "@startlist/core/OAuth"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Grant from "./Grant.ts"
import * as Model from "./Model.ts"
import { nameOf, type ProgramFixture } from "./programFixture.ts"

/** The parts of a state that requests can read without changing it. */
export interface Observation {
  /** Access tokens that are accepted, and refresh tokens that are current. */
  readonly access: ReadonlyArray<number>
  readonly refresh: ReadonlyArray<number>
  /** `application/user` of each authorised application. */
  readonly authorized: ReadonlyArray<string>
  readonly subscriptions: Readonly<Record<number, number>>
  /** Subscriptions that are shown as paused. */
  readonly paused: ReadonlyArray<number>
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

/**
 * Events such as `updated registration 0 status-1`, grouped by object, each group in its order. Only that order is
 * promised (law 6): two saves at the same time may queue their events in any order.
 */
const byObject = (events: ReadonlyArray<string>): ReadonlyArray<string> => {
  const objectOf = (event: string) => event.split(" ").slice(1, 3).join(" ")
  return [...events].sort((a, b) => objectOf(a).localeCompare(objectOf(b)))
}

/** The pairs of tokens of one kind for which this holds, of applications that are active. */
const pairs = (
  { grants, standing }: Model.State,
  kind: "access" | "refresh",
  isSeen: (grant: Grant.Grant, pair: number) => boolean
): ReadonlyArray<number> =>
  Object.entries(grants).filter(([key]) => !standing[Model.applicationOf(key)])
    .flatMap(([, grant]) => Object.keys(grant[kind]).map(Number).filter((pair) => isSeen(grant, pair)))
    .sort((a, b) => a - b)

/** The expected observation of a state at `now`. */
export const expected = (state: Model.State, now: number): Observation => ({
  access: pairs(state, "access", (grant, pair) => Grant.accepts(grant, pair, now)),
  refresh: pairs(state, "refresh", (grant, pair) => Grant.isCurrent(grant, pair, now)),
  authorized: Object.keys(state.grants).filter((key) => state.grants[key]?.isAlive).sort(),
  subscriptions: state.subscriptions,
  paused: Object.values(state.subscriptions).filter((place) => state.paused[place]).sort((a, b) => a - b),
  deliveries: Object.fromEntries(
    Object.entries(state.deliveries).flatMap(([place, events]) => events.length > 0 ? [[place, byObject(events)]] : [])
  )
})

/** Observes everything that users, applications and operators can see. */
export const observe = (fixture: ProgramFixture) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth
    const store = yield* DeliveryStore
    const subscriptions = yield* Subscriptions
    const access: Array<number> = []
    const refresh: Array<number> = []
    for (const [index, pair] of fixture.pairs.entries()) {
      if (pair.access === undefined || pair.refresh === undefined) continue
      if (Option.isSome(yield* Effect.option(oauth.authenticate(pair.access)))) access.push(index)
      if (Option.isSome(yield* oauth.introspect(pair.refresh, Option.none()))) refresh.push(index)
    }
    const authorized: Array<string> = []
    for (const [user, { id }] of fixture.users.entries()) {
      for (const line of yield* oauth.authorized(id)) {
        const application = fixture.applications.findIndex((one) => one.id === line.application.id)
        authorized.push(Model.keyOf(application, user))
      }
    }
    const subscribed: Record<number, number> = {}
    const paused: Array<number> = []
    const lists: Record<number, Array<string>> = {}
    fixture.deliveries = []
    for (const [index, { id }] of fixture.applications.entries()) {
      const subscription = yield* subscriptions.findByApplication(id)
      if (Option.isSome(subscription)) {
        const place = fixture.subscriptions.indexOf(subscription.value.id)
        subscribed[index] = place
        if (subscription.value.paused) paused.push(place)
      }
      const page = { applicationId: Option.some(id), state: Option.none(), after: Option.none(), limit: 10_000 }
      const listed = [...(yield* store.list(page))].reverse()
      fixture.deliveries = [...fixture.deliveries, ...listed]
      for (const delivery of listed) fixture.everSeen.set(delivery.id, delivery)
      for (const delivery of listed) {
        const place = fixture.subscriptions.indexOf(delivery.subscriptionId)
        lists[place] = [...(lists[place] ?? []), nameOf(fixture, delivery)]
      }
    }
    const observation: Observation = {
      access,
      refresh,
      authorized: authorized.sort(),
      subscriptions: subscribed,
      paused: paused.sort((a, b) => a - b),
      deliveries: Object.fromEntries(Object.entries(lists).map(([place, events]) => [place, byObject(events)]))
    }
    return observation
  })

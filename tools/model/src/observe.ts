/** Observes the system from outside. Records are numbered in the order of their appearance. */
import { DeliveryStore } from "@startlist/core/Delivery"
import { OAuth } from "@startlist/core/OAuth"
import { Subscriptions } from "@startlist/core/Subscriptions"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Observed from "./observation.ts"
import * as Model from "./Model.ts"
import { nameOf, type ProgramFixture } from "./programFixture.ts"

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
    const observation: Observed.Observation = {
      access,
      refresh,
      authorized: authorized.sort(),
      subscriptions: subscribed,
      paused: paused.sort((a, b) => a - b),
      deliveries: Object.fromEntries(Object.entries(lists).map(([place, events]) => [place, Observed.byObject(events)]))
    }
    return observation
  })

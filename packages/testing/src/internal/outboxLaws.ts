/** Laws of the outbox: the subscriptions for which an event is queued, and its deliveries. */
import type { Application } from "@startlist/core/Application"
import { Audience, type Event, EventId, type Outgoing } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Stores"
import { emptyUpdates } from "@startlist/core/Registration"
import type { Subscription } from "@startlist/core/Subscription"
import type { User } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, following, only } from "./fixture.ts"
import { forEach, storeLaw } from "./storeLaw.ts"

const fieldsOfEvent = FastCheck.tuple(
  FastCheck.oneof(
    FastCheck.record({
      aspectType: FastCheck.constant<Event["aspectType"]>("updated"),
      objectType: FastCheck.constant<Event["objectType"]>("registration"),
      updates: Arbitraries.updates
    }),
    FastCheck.record({
      aspectType: FastCheck.constant<Event["aspectType"]>("deleted"),
      objectType: FastCheck.constantFrom<Event["objectType"]>("athlete", "organizer"),
      updates: FastCheck.constant({})
    })
  ),
  FastCheck.record({ objectId: Arbitraries.bigId, time: Arbitraries.instant, trace: Arbitraries.trace })
)

/** An event for all applications that have a grant of one of these users. */
const forGranted = (event: Event, ...users: ReadonlyArray<User>): Outgoing => ({
  event,
  audience: Audience.GrantedBy({ userIds: users.map(({ id }) => id) })
})

/** A new delivery of an event. */
const queued = (id: number | undefined, event: Event, { applicationId, id: subscriptionId }: Subscription) => ({
  id,
  applicationId,
  subscriptionId,
  event,
  state: "pending",
  attempts: [],
  dueAt: event.time,
  endedAt: Option.none()
})

export const outboxLaws: LawGroup<Stores> = {
  about: "the outbox",
  laws: [
    storeLaw("an event is queued as it was saved: pending, due at its time, without attempts", function*(f) {
      const { app, subscription } = yield* f.subscribed
      yield* forEach(fieldsOfEvent, 30, function*([kind, fields]) {
        const event = { ...kind, ...fields, id: EventId.make(f.name("evt")) }
        yield* f.queue(app, [event])
        const last = (yield* f.listed(app)).at(-1)
        same(last, queued(last?.id, event, subscription))
      })
      // Some are due in thousands of years.
      yield* f.cleanUp
    }),
    storeLaw("an event for one application is queued for its subscription alone, whatever its grants", function*(f) {
      const [one, two] = [yield* f.subscribed, yield* f.subscribed]
      const owner = yield* f.user()
      const first = yield* f.grant(one.app, owner)
      yield* f.grant(two.app, owner)
      const event = f.event(owner.id, at(3), { aspectType: "deleted", objectType: "athlete", updates: {} })
      yield* f.grants.save({ grant: following(first, { status: "revoked" }), outgoing: f.outgoing(one.app, event) })
      same((yield* f.listed(one.app)).map(({ dueAt }) => dueAt), [at(3)])
      same(yield* f.listed(two.app), [])
    }),
    storeLaw("an event is queued once for each subscribed application with an active grant of a user", function*(f) {
      const [ada, bob, eve] = [yield* f.user(), yield* f.user("organizer"), yield* f.user("club")]
      const subscribed = Effect.map(f.subscribed, ({ app }) => app)
      const [both, adas, eves, revoked] = yield* Effect.all([subscribed, subscribed, subscribed, subscribed])
      const silent = yield* f.application()
      yield* f.grant(both, ada)
      yield* f.grant(both, bob)
      yield* f.grant(adas, ada)
      yield* f.grant(eves, eve)
      yield* f.grant(silent, ada)
      yield* f.grants.save(only(following(yield* f.grant(revoked, ada), { status: "revoked" })))
      yield* f.change(yield* f.registration(ada), [forGranted(f.event(1), ada, bob, ada)])
      const objects = yield* Effect.forEach([both, adas, eves, revoked, silent], f.listedObjects)
      same(objects, [[1], [1], [], [], []])
    }),
    storeLaw("every user of an audience counts", function*(f) {
      const apps: Array<Application> = []
      const users: Array<User> = []
      for (let n = 0; n < 8; n++) {
        const [{ app }, user] = [yield* f.subscribed, yield* f.user()]
        yield* f.grant(app, user)
        apps.push(app)
        users.push(user)
      }
      const strangers = yield* Effect.all(Array.from({ length: 300 }, () => f.user()))
      const ids = yield* f.deliveryQueue.enqueue([
        forGranted(f.event(1), ...users),
        forGranted(f.event(2), ...strangers, ...users)
      ])
      same(yield* Effect.forEach(apps, f.listedObjects), apps.map(() => [1, 2]))
      const listed = (yield* Effect.forEach(apps, f.listed)).flat().map(({ id }) => id)
      same([...ids].sort((a, b) => a - b), listed.sort((a, b) => a - b), "the identifiers of all deliveries")
    }),
    storeLaw("a grant that is active again counts again", function*(f) {
      const { app } = yield* f.subscribed
      const ada = yield* f.user()
      const revoked = following(yield* f.grant(app, ada), { status: "revoked" })
      yield* f.grants.save(only(revoked))
      const changed = yield* f.change(yield* f.registration(ada), [forGranted(f.event(1), ada)])
      yield* f.grants.save(only(following(revoked, { status: "active", epoch: 2 })))
      yield* f.change(changed, [forGranted(f.event(2), ada)])
      same(yield* f.listedObjects(app), [2])
    }),
    storeLaw("no application is notified if no user is named or none is subscribed", function*(f) {
      const { app } = yield* f.subscribed
      const silent = yield* f.application()
      const ada = yield* f.user()
      yield* f.grant(app, ada)
      yield* f.change(yield* f.registration(ada), [forGranted(f.event(1)), ...f.outgoing(silent, f.event(2))])
      yield* f.subscription(silent)
      same(yield* f.listed(app), [])
      same(yield* f.listed(silent), [])
    }),
    storeLaw("enqueued events are queued like those of a save, for the applications concerned now", function*(f) {
      const [one, two, revoked] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
      const ada = yield* f.user()
      yield* f.grant(one.app, ada)
      yield* f.grants.save(only(following(yield* f.grant(revoked.app, ada), { status: "revoked" })))
      const event = f.event(1)
      const ids = yield* f.deliveryQueue.enqueue([forGranted(event, ada), ...f.outgoing(two.app, f.event(2))])
      same(yield* f.deliveryQueue.enqueue([]), [])
      const found = yield* f.listed(one.app)
      same(ids, [...found, ...yield* f.listed(two.app)].map(({ id }) => id))
      same(found, [queued(found[0]?.id, event, one.subscription)])
      same(yield* f.listedObjects(two.app), [2])
      same(yield* f.listed(revoked.app), [])
    }),
    storeLaw("all events of one save are queued, in their order", function*(f) {
      const { app } = yield* f.subscribed
      const ada = yield* f.user()
      yield* f.grant(app, ada)
      const updates = { ...emptyUpdates, comment: "same object" }
      const event = (seconds: number) => f.event(1, at(seconds), { updates })
      const outgoing = [...f.outgoing(app, event(0)), forGranted(event(1), ada), ...f.outgoing(app, event(2))]
      yield* f.change(yield* f.registration(ada), outgoing)
      same((yield* f.listed(app)).map(({ dueAt }) => dueAt), [at(0), at(1), at(2)])
    })
  ]
}

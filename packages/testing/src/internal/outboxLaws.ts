/** Laws of the outbox: whom an event is queued for, and how. */
import { Audience, Event } from "@startlist/core/Event"
import type { Stores } from "@startlist/core/Stores"
import { emptyUpdates } from "@startlist/core/Registration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, type LawGroup } from "../Law.ts"
import { storeLaw } from "./storeLaw.ts"
import { same } from "./expecting.ts"
import { at, following, only } from "./fixture.ts"

export const outboxLaws: LawGroup<Stores> = {
  about: "the outbox",
  laws: [
    storeLaw(
      "an event is queued as it was saved: pending, due at its time, without attempts",
      function*({ listed, name, queue, subscribed }) {
        const { app, subscription } = yield* subscribed
        const registrationEvent = FastCheck.record({
          aspectType: FastCheck.constant<Event["aspectType"]>("updated"),
          objectType: FastCheck.constant<Event["objectType"]>("registration"),
          updates: Arbitraries.updates
        })
        const userEvent = FastCheck.record({
          aspectType: FastCheck.constant<Event["aspectType"]>("deleted"),
          objectType: FastCheck.constantFrom<Event["objectType"]>("athlete", "organizer"),
          updates: FastCheck.constant({})
        })
        const any = FastCheck.tuple(
          FastCheck.oneof(registrationEvent, userEvent),
          FastCheck.record({ objectId: Arbitraries.bigId, time: Arbitraries.instant })
        )
        yield* forAll(any, ([kind, fields]) =>
          Effect.gen(function*() {
            const event = Event.make({ ...kind, ...fields, id: Event.fields.id.make(name("evt")) })
            yield* queue(app, [event])
            const [last] = (yield* listed(app)).slice(-1)
            same(last, {
              id: last?.id,
              applicationId: app.id,
              subscriptionId: subscription.id,
              event,
              state: "pending",
              attempts: [],
              dueAt: event.time,
              endedAt: Option.none()
            })
          }), { numRuns: 30 })
      }
    ),
    storeLaw(
      "an event for one application is queued for its subscription alone, whatever its grants",
      function*({ event, grant, grants, listed, subscribed, user }) {
        const [one, two] = [yield* subscribed, yield* subscribed]
        const owner = yield* user()
        const first = yield* grant(one.app, owner)
        yield* grant(two.app, owner)
        yield* grants.save({
          ...only(following(first, { status: "revoked" })),
          outgoing: [{
            event: event(owner.id, at(3), { aspectType: "deleted", objectType: "athlete", updates: {} }),
            audience: Audience.Application({ applicationId: one.app.id })
          }]
        })
        same((yield* listed(one.app)).map(({ dueAt }) => dueAt), [at(3)])
        same(yield* listed(two.app), [])
      }
    ),
    storeLaw(
      "an event is queued once for every subscribed application with an active grant from any of the users",
      function*({ application, change, event, grant, grants, listed, registration, subscribed, user }) {
        const [ada, bob, eve] = [yield* user(), yield* user("organizer"), yield* user("club")]
        const [both, adas, eves, revoked] = [
          yield* subscribed,
          yield* subscribed,
          yield* subscribed,
          yield* subscribed
        ]
        const silent = yield* application()
        yield* grant(both.app, ada)
        yield* grant(both.app, bob)
        yield* grant(adas.app, ada)
        yield* grant(eves.app, eve)
        yield* grant(silent, ada)
        yield* grants.save(only(following(yield* grant(revoked.app, ada), { status: "revoked" })))
        const audience = Audience.GrantedBy({ userIds: [ada.id, bob.id, ada.id] })
        yield* change(yield* registration(ada), [{ event: event(1), audience }])
        const counts = yield* Effect.forEach(
          [both.app, adas.app, eves.app, revoked.app, silent],
          (app) => Effect.map(listed(app), (found) => found.length)
        )
        same(counts, [1, 1, 0, 0, 0])
      }
    ),
    storeLaw(
      "a grant that is active again counts again",
      function*({ change, event, grant, grants, listed, registration, subscribed, user }) {
        const { app } = yield* subscribed
        const ada = yield* user()
        const revoked = following(yield* grant(app, ada), { status: "revoked" })
        yield* grants.save(only(revoked))
        const audience = Audience.GrantedBy({ userIds: [ada.id] })
        const changed = yield* change(yield* registration(ada), [{ event: event(1), audience }])
        yield* grants.save(only(following(revoked, { status: "active", epoch: 2 })))
        yield* change(changed, [{ event: event(2), audience }])
        same((yield* listed(app)).map(({ event }) => event.objectId), [2])
      }
    ),
    storeLaw(
      "nobody is told when nobody is named or no one is subscribed",
      function*({ application, change, event, grant, listed, registration, subscribed, subscription, user }) {
        const { app } = yield* subscribed
        const silent = yield* application()
        const ada = yield* user()
        yield* grant(app, ada)
        yield* change(yield* registration(ada), [
          { event: event(1), audience: Audience.GrantedBy({ userIds: [] }) },
          { event: event(2), audience: Audience.Application({ applicationId: silent.id }) }
        ])
        yield* subscription(silent)
        same(yield* listed(app), [])
        same(yield* listed(silent), [])
      }
    ),
    storeLaw(
      "events of something kept elsewhere are queued like those of a save, for those who are concerned now",
      function*({ deliveries, event, grant, grants, listed, subscribed, user }) {
        const [one, two, revoked] = [yield* subscribed, yield* subscribed, yield* subscribed]
        const ada = yield* user()
        yield* grant(one.app, ada)
        yield* grants.save(only(following(yield* grant(revoked.app, ada), { status: "revoked" })))
        const told = event(1)
        yield* deliveries.enqueue([
          { event: told, audience: Audience.GrantedBy({ userIds: [ada.id] }) },
          { event: event(2), audience: Audience.Application({ applicationId: two.app.id }) }
        ])
        yield* deliveries.enqueue([])
        const found = yield* listed(one.app)
        same(found, [{
          id: found[0]?.id,
          applicationId: one.app.id,
          subscriptionId: one.subscription.id,
          event: told,
          state: "pending",
          attempts: [],
          dueAt: told.time,
          endedAt: Option.none()
        }])
        same((yield* listed(two.app)).map(({ event }) => event.objectId), [2])
        same(yield* listed(revoked.app), [])
      }
    ),
    storeLaw(
      "all events of one save are queued, in their order",
      function*({ change, event, grant, listed, registration, subscribed, user }) {
        const { app } = yield* subscribed
        const ada = yield* user()
        yield* grant(app, ada)
        const audiences = [
          Audience.Application({ applicationId: app.id }),
          Audience.GrantedBy({ userIds: [ada.id] }),
          Audience.Application({ applicationId: app.id })
        ]
        const updates = { ...emptyUpdates, comment: "same object" }
        yield* change(
          yield* registration(ada),
          audiences.map((audience, n) => ({ audience, event: event(1, at(n), { updates }) }))
        )
        same((yield* listed(app)).map(({ dueAt }) => dueAt), [at(0), at(1), at(2)])
      }
    )
  ]
}

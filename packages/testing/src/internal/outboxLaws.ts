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
    storeLaw("an event is queued as it was saved: pending, due at its time, without attempts", function*(f) {
      const { app, subscription } = yield* f.subscribed
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
          const event = Event.make({ ...kind, ...fields, id: Event.fields.id.make(f.name("evt")) })
          yield* f.queue(app, [event])
          const [last] = (yield* f.listed(app)).slice(-1)
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
    }),
    storeLaw("an event for one application is queued for its subscription alone, whatever its grants", function*(f) {
      const [one, two] = [yield* f.subscribed, yield* f.subscribed]
      const owner = yield* f.user()
      const first = yield* f.grant(one.app, owner)
      yield* f.grant(two.app, owner)
      yield* f.grants.save({
        ...only(following(first, { status: "revoked" })),
        outgoing: [{
          event: f.event(owner.id, at(3), { aspectType: "deleted", objectType: "athlete", updates: {} }),
          audience: Audience.Application({ applicationId: one.app.id })
        }]
      })
      same((yield* f.listed(one.app)).map(({ dueAt }) => dueAt), [at(3)])
      same(yield* f.listed(two.app), [])
    }),
    storeLaw(
      "an event is queued once for every subscribed application with an active grant from any of the users",
      function*(f) {
        const [ada, bob, eve] = [yield* f.user(), yield* f.user("organizer"), yield* f.user("club")]
        const [both, adas, eves, revoked] = [
          yield* f.subscribed,
          yield* f.subscribed,
          yield* f.subscribed,
          yield* f.subscribed
        ]
        const silent = yield* f.application()
        yield* f.grant(both.app, ada)
        yield* f.grant(both.app, bob)
        yield* f.grant(adas.app, ada)
        yield* f.grant(eves.app, eve)
        yield* f.grant(silent, ada)
        yield* f.grants.save(only(following(yield* f.grant(revoked.app, ada), { status: "revoked" })))
        const audience = Audience.GrantedBy({ userIds: [ada.id, bob.id, ada.id] })
        yield* f.change(yield* f.registration(ada), [{ event: f.event(1), audience }])
        const counts = yield* Effect.forEach(
          [both.app, adas.app, eves.app, revoked.app, silent],
          (app) => Effect.map(f.listed(app), (found) => found.length)
        )
        same(counts, [1, 1, 0, 0, 0])
      }
    ),
    storeLaw("a grant that is active again counts again", function*(f) {
      const { app } = yield* f.subscribed
      const ada = yield* f.user()
      const revoked = following(yield* f.grant(app, ada), { status: "revoked" })
      yield* f.grants.save(only(revoked))
      const audience = Audience.GrantedBy({ userIds: [ada.id] })
      const changed = yield* f.change(yield* f.registration(ada), [{ event: f.event(1), audience }])
      yield* f.grants.save(only(following(revoked, { status: "active", epoch: 2 })))
      yield* f.change(changed, [{ event: f.event(2), audience }])
      same((yield* f.listed(app)).map(({ event }) => event.objectId), [2])
    }),
    storeLaw("nobody is told when nobody is named or no one is subscribed", function*(f) {
      const { app } = yield* f.subscribed
      const silent = yield* f.application()
      const ada = yield* f.user()
      yield* f.grant(app, ada)
      yield* f.change(yield* f.registration(ada), [
        { event: f.event(1), audience: Audience.GrantedBy({ userIds: [] }) },
        { event: f.event(2), audience: Audience.Application({ applicationId: silent.id }) }
      ])
      yield* f.subscription(silent)
      same(yield* f.listed(app), [])
      same(yield* f.listed(silent), [])
    }),
    storeLaw(
      "events of something kept elsewhere are queued like those of a save, for those who are concerned now",
      function*(f) {
        const [one, two, revoked] = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed]
        const ada = yield* f.user()
        yield* f.grant(one.app, ada)
        yield* f.grants.save(only(following(yield* f.grant(revoked.app, ada), { status: "revoked" })))
        const told = f.event(1)
        yield* f.deliveries.enqueue([
          { event: told, audience: Audience.GrantedBy({ userIds: [ada.id] }) },
          { event: f.event(2), audience: Audience.Application({ applicationId: two.app.id }) }
        ])
        yield* f.deliveries.enqueue([])
        const found = yield* f.listed(one.app)
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
        same((yield* f.listed(two.app)).map(({ event }) => event.objectId), [2])
        same(yield* f.listed(revoked.app), [])
      }
    ),
    storeLaw("all events of one save are queued, in their order", function*(f) {
      const { app } = yield* f.subscribed
      const ada = yield* f.user()
      yield* f.grant(app, ada)
      const audiences = [
        Audience.Application({ applicationId: app.id }),
        Audience.GrantedBy({ userIds: [ada.id] }),
        Audience.Application({ applicationId: app.id })
      ]
      const updates = { ...emptyUpdates, comment: "same object" }
      yield* f.change(
        yield* f.registration(ada),
        audiences.map((audience, n) => ({ audience, event: f.event(1, at(n), { updates }) }))
      )
      same((yield* f.listed(app)).map(({ dueAt }) => dueAt), [at(0), at(1), at(2)])
    })
  ]
}

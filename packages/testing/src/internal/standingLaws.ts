/** Laws of a whole application: its state, its epoch, and the pause of its subscription (law 14). */
import type { Application } from "@startlist/core/Application"
import { Audience } from "@startlist/core/Event"
import { asOf } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { LawGroup } from "../Law.ts"
import { same, sorted } from "./expecting.ts"
import { at, type Fixture, following, objectsOf, only, start, timedOut } from "./fixture.ts"
import { inTheMiddle, stepsOf, sweep } from "./rounds.ts"
import { queueLaw, storeLaw } from "./storeLaw.ts"

/** Saves the application at its next version. */
const change = ({ applications }: Fixture, app: Application, fields: Partial<Application>) => {
  const next = { ...app, ...fields, version: app.version + 1 }
  return Effect.as(applications.save(next), next)
}

const standing: LawGroup<Stores> = {
  about: "states and epochs",
  laws: [
    storeLaw("a grant is found with the present state and epoch of its application", function*(f) {
      const app = yield* f.application()
      const grant = yield* f.grant(app, yield* f.user())
      const find = Effect.map(
        f.grants.find(app.id, grant.userId),
        Option.map(({ application: { epoch, state }, grant }) => [state, epoch, grant])
      )
      same(yield* find, Option.some(["active", 0, grant]))
      const suspended = yield* change(f, app, { state: "suspended" })
      same(yield* find, Option.some(["suspended", 0, grant]))
      yield* change(f, suspended, { state: "active", epoch: 1 })
      same(yield* find, Option.some(["active", 1, grant]))
      same(
        Option.map(yield* f.grants.find(app.id, grant.userId), (found) => asOf(found).status),
        Option.some("revoked")
      )
    }),
    storeLaw("grants of an earlier epoch are on no list", function*(f) {
      const [app, other] = [yield* f.application(), yield* f.application()]
      const user = yield* f.user()
      yield* f.grant(app, user)
      const stays = yield* f.grant(other, user)
      same((yield* f.grants.listByUser(user.id)).length, 2)
      same((yield* f.grants.listByApplication(app.id, 10)).length, 1)
      const next = yield* change(f, app, { epoch: 1 })
      same(yield* f.grants.listByUser(user.id), [stays])
      same(yield* f.grants.listByApplication(app.id, 10), [])
      const again = f.newGrant(next, user, { version: 2, epoch: 2, grantedAt: at(1) })
      yield* f.grants.save({ grant: again, outgoing: [] })
      same(yield* f.grants.listByUser(user.id), [stays, again])
      same(yield* f.grants.listByApplication(app.id, 10), [again])
    }),
    storeLaw("grants of an earlier epoch do not count for the limit of a list", function*(f) {
      const app = yield* f.application()
      // In the order of users or of saves, grants of the first epoch are in front of the others and behind them.
      const users = yield* Effect.all(Array.from({ length: 4 }, () => f.user()))
      const made = yield* Effect.forEach(users.sort((a, b) => a.id - b.id), (user) => f.grant(app, user))
      yield* change(f, app, { epoch: 1 })
      const renewed = made.slice(1, 3).map((grant) => following(grant, { applicationEpoch: 1 }))
      for (const grant of renewed) yield* f.grants.save(only(grant))
      const found = yield* f.grants.listByApplication(app.id, 2)
      same([...found].sort((a, b) => a.userId - b.userId), renewed)
      same((yield* f.grants.listByApplication(app.id, 1)).length, 1)
    }),
    queueLaw(
      "grants of an earlier epoch concern nobody; events for one application are still queued",
      function*(f) {
        const [one, two] = [yield* f.subscribed, yield* f.subscribed]
        const user = yield* f.user()
        yield* f.grant(one.app, user)
        yield* f.grant(two.app, user)
        const audience = Audience.GrantedBy({ userIds: [user.id] })
        yield* f.deliveryQueue.enqueue([{ event: f.event(9), audience }])
        yield* change(f, one.app, { epoch: 1 })
        yield* f.deliveryQueue.enqueue([{ event: f.event(1), audience }, ...f.outgoing(one.app, f.event(2))])
        same(yield* f.listedObjects(one.app), [9, 2])
        same(yield* f.listedObjects(two.app), [9, 1])
        const later = yield* f.user()
        yield* f.grant({ ...one.app, epoch: 1 }, later)
        const both = Audience.GrantedBy({ userIds: [user.id, later.id] })
        yield* f.deliveryQueue.enqueue([{ event: f.event(3), audience: both }])
        same(yield* f.listedObjects(one.app), [9, 2, 3])
      }
    ),
    storeLaw("an application that has ended is found, and is on no list", function*(f) {
      const owner = yield* f.user("platform")
      const [first, second, third] = [
        yield* f.application(owner),
        yield* f.application(owner),
        yield* f.application(owner)
      ]
      const end = (app: Application) => change(f, app, { state: "ended", secrets: [], redirectUris: [] })
      const ended = yield* end(third)
      same(yield* f.applications.find(third.id), Option.some(ended))
      const list = (owned: Option.Option<typeof owner.id>, limit: number) =>
        f.applications.list({ owner: owned, after: Option.none(), limit })
      same(yield* list(Option.some(owner.id), 1), [second], "a page, without the one that has ended")
      same((yield* list(Option.none(), 1)).length, 1)
      yield* end(first)
      same(yield* list(Option.some(owner.id), 500), [second])
      same((yield* list(Option.none(), 500)).some(({ id }) => id === third.id), false)
    }),
    storeLaw("subscriptions are listed newest first, page by page", function*(f) {
      const made = [yield* f.subscribed, yield* f.subscribed, yield* f.subscribed].map(({ subscription }) =>
        subscription
      )
      const [oldest, between, newest] = made
      if (between === undefined) return
      const middle = { ...between, updatedAt: at(1), version: 2 }
      yield* f.subscriptions.save(middle)
      const list = (after: typeof oldest, limit: number) =>
        f.subscriptions.list({ after: Option.map(Option.fromNullable(after), ({ id }) => id), limit })
      same((yield* list(undefined, 2)).slice(0, 1), [newest])
      same((yield* list(newest, 2)).slice(0, 2), [middle, oldest])
      yield* f.subscriptions.remove(middle.id, start)
      same((yield* list(middle, 1)).slice(0, 1), [oldest], "after one that was removed")
      yield* f.cleanUp
    })
  ]
}

const held: LawGroup<Stores> = {
  about: "pauses",
  laws: [
    queueLaw("nothing is claimed for a paused subscription; once resumed, all events come in order", function*(f) {
      const [paused, other] = [yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(paused.app, [f.event(1), f.event(1, at(1)), f.event(2)])
      const { subscription } = paused
      yield* f.subscriptions.save({ ...subscription, paused: true, version: 2 })
      yield* f.queue(paused.app, [f.event(3)])
      yield* f.queue(other.app, [f.event(4, at(5))])
      same(objectsOf(yield* f.claimAt(10)), [4])
      yield* f.subscriptions.save({ ...subscription, paused: false, version: 3 })
      const claimed = yield* f.claimAt(10)
      same(sorted(objectsOf(claimed)), [1, 2, 3])
      same(claimed.map(({ subscription }) => [subscription.paused, subscription.version]), [[false, 3], [false, 3], [
        false,
        3
      ]])
      yield* f.settle(claimed)
      same(objectsOf(yield* f.claimAt(10)), [1])
    }),
    queueLaw("nothing is claimed for a suspended application; once restored, all events come in order", function*(f) {
      const [suspended, other] = [yield* f.subscribed, yield* f.subscribed]
      yield* f.queue(suspended.app, [f.event(1), f.event(2)])
      const next = yield* change(f, suspended.app, { state: "suspended" })
      yield* f.queue(suspended.app, [f.event(1), f.event(3)])
      yield* f.queue(other.app, [f.event(4, at(5))])
      same(objectsOf(yield* f.claimAt(10)), [4])
      yield* change(f, next, { state: "active" })
      same(sorted(objectsOf(yield* f.claimAt(10))), [1, 2, 3])
    }),
    queueLaw("a long waiting queue delays no other subscription, and takes no share", function*(f) {
      const [paused, other] = [yield* f.subscribed, yield* f.subscribed]
      const objects = Arr.range(1, 120)
      yield* f.enqueue(paused.app, f.events(objects))
      // The earliest one of these waits for an earlier event of its object.
      const later = f.events([201, 201, 202, 203, 204], at(5))
      yield* f.enqueue(other.app, later)
      yield* f.subscriptions.save({ ...paused.subscription, paused: true, version: 2 })
      same(sorted(objectsOf(yield* f.claimAt(10, { limit: 4 }))), [201, 202, 203, 204])
      same(yield* f.claimAt(10, { limit: 4 }), [], "what is claimed while the rest waits")
      yield* f.subscriptions.remove(paused.subscription.id, start)
    }),
    queueLaw("a claim during which a change ends treats what is queued after it by that change", function*(f) {
      // An event that is not due: a store may not look further if it has none.
      const subscribed = Effect.tap(
        f.subscribed,
        ({ app }) => f.enqueue(app, [f.event(2, at(500))])
      )
      yield* subscribed
      const steps = yield* stepsOf(f.claim())
      for (const change of ["pause", "suspension", "callback", "secrets"] as const) {
        yield* sweep(steps, (step) =>
          Effect.gen(function*() {
            const { app, subscription } = yield* subscribed
            const next = { ...subscription, callbackUrl: "https://app.example.test/next", version: 2 }
            const secrets = [{ value: Redacted.make(f.name("whsec")), expiresAt: Option.none() }]
            const save = {
              pause: f.subscriptions.save({ ...subscription, paused: true, version: 2 }),
              suspension: f.applications.save({ ...app, state: "suspended", version: 2 }),
              callback: f.subscriptions.save(next),
              secrets: f.applications.saveSigningSecrets({ applicationId: app.id, version: 2, secrets })
            }[change]
            const queued = Effect.zipRight(save, f.enqueue(app, [f.event(1)]))
            const [[claimed = []]] = yield* inTheMiddle([[f.claim(), step]], queued, steps.millis)
            if (change === "pause" || change === "suspension") same(claimed, [], `what is claimed after a ${change}`)
            for (const one of claimed) {
              if (change === "callback") same(one.subscription, next)
              if (change === "secrets") same(one.signingSecrets, secrets)
            }
            yield* f.cleanUp
          }))
      }
    }),
    queueLaw("the next subscription of an application is not paused", function*(f) {
      const { app, subscription } = yield* f.subscribed
      yield* f.subscriptions.save({ ...subscription, paused: true, version: 2 })
      yield* f.subscriptions.remove(subscription.id, start)
      const next = yield* f.subscription(app)
      same([next.paused, next.version], [false, 1])
      same(yield* f.subscriptions.findByApplication(app.id), next)
      yield* f.queue(app, [f.event(1)])
      same((yield* f.claim()).map((one) => one.subscription), [next])
    }),
    queueLaw("what was claimed before a pause or suspension is recorded, and not claimed again", function*(f) {
      for (const change of ["pause", "suspension"] as const) {
        const { app, claimed, subscription } = yield* f.claimedDeliveries(2)
        yield* change === "pause"
          ? f.subscriptions.save({ ...subscription, paused: true, version: 2 })
          : f.applications.save({ ...app, state: "suspended", version: 2 })
        same(yield* f.claimAt(20), [], `what is claimed after the leases (${change})`)
        yield* f.settle(claimed)
        same((yield* f.listed(app)).map(({ state }) => state), ["delivered", "delivered"], change)
      }
    }),
    queueLaw("pending deliveries are cancelled newest first, claimed ones too, and no others", function*(f) {
      const [app, other] = [(yield* f.subscribed).app, (yield* f.subscribed).app]
      yield* f.queue(app, [f.event(1), f.event(1), f.event(2), f.event(3)])
      yield* f.queue(other, [f.event(9)])
      const [first, ...claimed] = yield* f.claim()
      yield* f.settle(first === undefined ? [] : [first])
      const failed = timedOut(start)
      const [third] = claimed.filter(({ delivery }) => delivery.event.objectId === 3)
      yield* f.settle(third ? [third] : [], { attempts: [failed], dueAt: start })
      const before = yield* f.listed(app)
      const states = Effect.map(
        f.listed(app),
        (listed) => listed.map(({ endedAt, state }) => [state, Option.isSome(endedAt)])
      )
      same(yield* f.deliveryQueue.cancel(app.id, at(3), 2), 2)
      same(yield* states, [["delivered", true], ["pending", false], ["cancelled", true], ["cancelled", true]])
      const ends = { state: "cancelled", endedAt: Option.some(at(3)) }
      same(
        yield* f.listed(app),
        before.map((one, place) => place < 2 ? one : { ...one, ...ends }),
        "nothing else changes"
      )
      same(
        yield* f.settle(claimed.filter(({ delivery }) => delivery.applicationId === app.id)),
        []
      )
      const [late] = yield* f.claim()
      same(late?.delivery.event.objectId, 1)
      // The oldest one is due after those that come now.
      yield* f.settle(late === undefined ? [] : [late], { attempts: [failed], dueAt: at(500) })
      yield* f.queue(app, [f.event(5), f.event(6)])
      same(yield* f.deliveryQueue.cancel(app.id, at(3), 2), 2)
      same((yield* f.listed(app)).map(({ state }) => state).slice(1), ["pending", ...Array(4).fill("cancelled")])
      same(yield* f.deliveryQueue.cancel(app.id, at(3), 10), 1)
      same(yield* f.deliveryQueue.cancel(app.id, at(3), 10), 0)
      same((yield* f.listed(other)).map(({ state }) => state), ["pending"])
      yield* f.queue(app, [f.event(1)])
      same(objectsOf(yield* f.claim()), [1])
    })
  ]
}

export const standingLaws: ReadonlyArray<LawGroup<Stores>> = [standing, held]

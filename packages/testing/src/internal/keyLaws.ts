/** Laws of keys that a store may confuse. They work best on new stores, which give small identifiers. */
import type { Application } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import { Audience } from "@startlist/core/Event"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Services"
import { Fingerprint } from "@startlist/core/Secrets"
import { UserId } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { LawGroup } from "../Suite.ts"
import { storeLaw } from "./storeLaw.ts"
import { same, sorted } from "./expecting.ts"
import { at, early, type Fixture, following, only } from "./fixture.ts"
import { together } from "./rounds.ts"

interface Numbered {
  readonly id: number
}

/** Records `a` and `b` whose numbers are related. */
const related = <A extends Numbered>(all: ReadonlyArray<A>, isRelated: (a: string, b: string) => boolean) => {
  for (const a of all) {
    const b = all.find(({ id }) => id !== a.id && isRelated(String(a.id), String(id)))
    if (b !== undefined) return [a, b] as const
  }
  return undefined
}

/** The digits after the prefix are a number, too. */
const isInFront = (a: string, b: string): boolean => b.startsWith(a) && b[a.length] !== "0"

const isAtTheEnd = (a: string, b: string): boolean => b.endsWith(a)

/** Pairs of keys with the same digits, in either order of their parts: 1/11 and 11/1; 1/12 and 11/2. */
const confusable = <A extends Numbered>(all: ReadonlyArray<A>) => {
  const pairs: Array<readonly [A, number, A, number]> = []
  const [one, two] = all
  if (one && two) pairs.push([one, two.id, two, one.id])
  const front = related(all, isInFront)
  if (front) pairs.push([front[0], Number(`${String(front[1].id).slice(String(front[0].id).length)}7`), front[1], 7])
  const back = related(all, isAtTheEnd)
  if (back) pairs.push([back[0], Number(`7${String(back[1].id).slice(0, -String(back[0].id).length)}`), back[1], 7])
  return pairs
}

/** Grants whose keys have the same digits are different grants. */
const confusableGrants = (f: Fixture, apps: ReadonlyArray<Application>) =>
  Effect.forEach(confusable(apps), ([a, ofA, b, ofB]) =>
    Effect.gen(function*() {
      const [userA, userB] = [UserId.make(ofA), UserId.make(ofB)]
      const user = yield* f.user()
      const grant = f.newGrant(a, { ...user, id: userA })
      if (Option.isSome(yield* f.findGrant(a.id, userA)) || Option.isSome(yield* f.findGrant(b.id, userB))) return
      yield* f.grants.save(only(grant))
      same(yield* f.findGrant(b.id, userB), Option.none(), `application ${b.id}, user ${userB}`)
      const other = f.newGrant(b, { ...user, id: userB }, { scope: ["other"] })
      yield* f.grants.save(only(other))
      const next = following(grant, { scope: ["next"] })
      yield* f.grants.save(only(next))
      const both = [other, next, other, next]
      const asked = both.map(({ applicationId, userId }) => f.findGrant(applicationId, userId))
      same(yield* Effect.all(asked, together), both, "found together")
      for (const found of [other, next]) yield* f.grants.save(only(following(found, { status: "revoked" })))
    }))

/** Deliveries of objects and subscriptions whose numbers have the same digits do not wait for each other. */
const confusableObjects = (f: Fixture, subscribed: ReadonlyArray<Numbered & { readonly app: Application }>) =>
  Effect.forEach(confusable(subscribed), ([a, ofA, b, ofB]) =>
    Effect.gen(function*() {
      const users = (["athlete", "organizer"] as const).map((objectType) =>
        f.event(ofA, early, { aspectType: "deleted", objectType, updates: {} })
      )
      yield* f.enqueue(a.app, [f.event(ofA, early), ...users])
      yield* f.enqueue(b.app, [f.event(ofB, early)])
      const claimed = yield* f.claimAt(-1000)
      const mine = claimed.filter(({ subscription: { id } }) => id === a.id || id === b.id)
      const found = mine.map(({ delivery }) => [delivery.subscriptionId, delivery.event.objectId])
      same(found, [[a.id, ofA], [a.id, ofA], [a.id, ofA], [b.id, ofB]], "what is claimed")
      yield* f.settle(mine)
    }))

export const keyLaws: LawGroup<Stores> = {
  about: "keys",
  laws: [
    storeLaw("12 deliveries of each of ten objects are claimed, listed and logged in their order", function*(f) {
      const { app } = yield* f.subscribed
      const ids = yield* f.enqueue(app, f.events(Array.from({ length: 120 }, (_, place) => place % 10 + 1), early))
      for (let first = 0; first < ids.length; first += 10) {
        const mine = (yield* f.claimAt(-1000)).filter(({ delivery }) => delivery.applicationId === app.id)
        same(mine.map(({ delivery }) => delivery.id), ids.slice(first, first + 10), "the next delivery of each object")
        yield* f.settle(mine)
      }
      same((yield* f.listed(app)).map(({ id }) => id), ids, "in the order of the list")
      const log = yield* f.deliveries.log({ applicationId: app.id, after: 0, limit: 1000 })
      same(log.map(({ delivery }) => delivery.id), ids, "in the order of the log")
      yield* f.cleanUp
    }),
    storeLaw("130 applications of a user are on each list and notified, whatever their digits", function*(f) {
      const owner = yield* f.user()
      // The number of one begins with that of the other, like 1 and 11.
      const similar = { ...owner, id: UserId.make(Number(`${owner.id}1`)) }
      const subscribed = Effect.flatMap(
        f.application(owner),
        (app) => Effect.map(f.subscription(app), ({ id }) => ({ app, id }))
      )
      const made = yield* Effect.all(
        Array.from({ length: 130 }, () => subscribed),
        { concurrency: 10 }
      )
      const all = made.sort((a, b) => a.app.id - b.app.id)
      const some = all.filter((_, place) => place % 10 === 0)
      yield* Effect.forEach(
        all.entries(),
        ([place, { app }]) => f.grant(app, owner, { grantedAt: at(place) }),
        together
      )
      yield* Effect.forEach(some, ({ app }) => f.grant(app, similar), together)
      const idOf = ({ app }: typeof all[number]) => app.id
      same((yield* f.grants.listByUser(owner.id)).map((one) => one.applicationId), all.map(idOf), "grants of a user")
      const others = (yield* f.grants.listByUser(similar.id)).map(({ applicationId }) => applicationId)
      same(sorted(others), some.map(idOf), "grants of a user whose number has one digit more")
      // The numbers of those behind them begin with theirs.
      const first = all.slice(0, 20)
      const byApplication = yield* Effect.forEach(
        first,
        ({ app }) => f.grants.listByApplication(app.id, 1000),
        together
      )
      for (const [place, grants] of byApplication.entries()) {
        const users = place % 10 === 0 ? [owner.id, similar.id] : [owner.id]
        same(sorted(grants.map(({ userId }) => userId)), users, `grants of application ${all[place]?.app.id}`)
      }
      const listed: Array<number> = []
      for (let page = 50, after = Option.none<typeof all[number]["app"]["id"]>(); page === 50;) {
        const found = yield* f.applications.list({ owner: Option.some(owner.id), after, limit: 50 })
        page = found.length
        after = Option.fromNullable(found.at(-1)?.id)
        listed.push(...found.map(({ id }) => id))
      }
      same(listed, all.map(idOf).reverse(), "applications of a user")
      const subscriptions = yield* f.subscriptions.list({ after: Option.none(), limit: 130 })
      same(subscriptions.map(({ id }) => id), sorted(all.map(({ id }) => id)).toReversed(), "subscriptions")
      const notified = yield* f.deliveryQueue.enqueue([owner, similar].map(({ id }) => ({
        event: f.event(id),
        audience: Audience.GrantedBy({ userIds: [id] })
      })))
      same(notified.length, all.length + some.length, "number of deliveries")
      const page = {
        applicationId: Option.none(),
        state: Option.none(),
        after: Option.none(),
        limit: notified.length
      }
      const told = (yield* f.deliveries.list(page)).map(({ applicationId }) => applicationId)
      same(sorted(told), sorted([...all, ...some].map(idOf)), "applications that were notified")
      yield* confusableGrants(f, all.map(({ app }) => app))
      yield* confusableObjects(f, all)
      yield* f.cleanUp
    }),
    storeLaw("objects with large numbers that are close do not wait for each other", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const large = [2 ** 24, 2 ** 31, 2 ** 32, 2 ** 52].flatMap((number) => [number, number + 1, number + 2])
      const objects = [1, 2, ...large, maxId - 1, maxId]
      yield* f.queue(app, f.events(objects, early))
      const claimed = yield* f.claimAt(-1000)
      const mine = claimed.filter((one) => one.subscription.id === subscription.id)
      same(mine.map(({ delivery }) => delivery.event.objectId), objects)
      yield* f.cleanUp
    }),
    storeLaw("objects of two subscriptions whose numbers differ by a round one do not wait", function*(f) {
      const [a, b] = [yield* f.subscribed, yield* f.subscribed]
      const between = b.subscription.id - a.subscription.id
      const factors = [10, 100, 1000, 2 ** 16, 10 ** 6, 10 ** 9, 2 ** 32, 10 ** 12]
      const objects = factors.map((factor) => 7 + between * factor)
      yield* f.enqueue(a.app, f.events(objects, early))
      yield* f.enqueue(b.app, f.events([7], early))
      const claimed = yield* f.claimAt(-1000)
      same(claimed.map(({ delivery }) => [delivery.applicationId, delivery.event.objectId]), [
        ...objects.map((object) => [a.app.id, object]),
        [b.app.id, 7]
      ])
      yield* f.cleanUp
    }),
    storeLaw("users whose numbers are equal in their last 32 bits are different users", function*(f) {
      const one = yield* f.user("platform")
      const other = { ...one, id: UserId.make((one.id + 2 ** 32) % 2 ** 50) }
      const { app } = yield* f.subscribed
      const [mine, others] = [yield* f.application(one), yield* f.application(other)]
      const list = f.applications.list({ owner: Option.some(one.id), after: Option.none(), limit: 9 })
      same((yield* list).map(({ id }) => id), [mine.id])
      const grant = yield* f.grant(app, one)
      yield* f.grant(mine, other)
      yield* f.grants.save(only(f.newGrant(mine, other, { status: "revoked", version: 2 })))
      same(yield* f.findGrant(app.id, other.id), Option.none())
      same(yield* f.grants.listByUser(other.id), [])
      const audience = Audience.GrantedBy({ userIds: [other.id] })
      yield* f.deliveryQueue.enqueue([{ event: f.event(1), audience }])
      same(yield* f.listed(app), [])
      yield* f.grant(others, other)
      same(yield* f.grants.listByUser(one.id), [grant])
      const all = [app, mine, others].flatMap((app) => [one, other].map((user) => [app.id, user.id] as const))
      const found = yield* Effect.forEach(all, (key) => f.findGrant(...key), { concurrency: "unbounded" })
      for (const [place, key] of all.entries()) same(found[place], yield* f.findGrant(...key), "found together")
      yield* f.cleanUp
    }),
    storeLaw("fingerprints that differ by case are different", function*(f) {
      const [upper, lower] = ["ABCdef", "abcDEF"].map((text) => Fingerprint.make(text.repeat(7)))
      if (upper === undefined || lower === undefined) return
      const app = yield* f.application()
      const secrets = [upper, lower].map((hash) => ({ ...first, hash }))
      yield* f.applications.save({ ...app, version: 2, secrets })
      same(Option.map(yield* f.applications.find(app.id), (found) => found.secrets), secrets)
      const owner = yield* f.user()
      const grant = yield* f.grant(app, owner, { codes: [f.code({ hash: upper }), f.code({ hash: lower })] })
      same(yield* f.findGrant(app.id, owner.id), grant)
    })
  ]
}

/** Laws of keys that a store may confuse. They work best on new stores, which give small identifiers. */
import { Audience } from "@startlist/core/Event"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { TokenHash } from "@startlist/core/Secrets"
import { UserId } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type LawGroup } from "../Law.ts"
import { storeLaw } from "./storeLaw.ts"
import { same } from "./expecting.ts"
import { early, following, only } from "./fixture.ts"

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

/** Maximum number of records until the number of one begins with that of another. */
const most = 120

/** Makes records until the numbers of some have the same digits. */
const madeUntilRelated = <A extends Numbered>(make: Effect.Effect<A, unknown>) =>
  Effect.gen(function*() {
    const all: Array<A> = []
    while (all.length < most) {
      all.push(...yield* Effect.all(Array.from({ length: 10 }, () => make), { concurrency: 10 }))
      if (related(all, isInFront) && related(all, isAtTheEnd)) break
    }
    return all
  })

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

export const keyLaws: LawGroup<Stores> = {
  about: "keys",
  laws: [
    storeLaw("grants whose keys have the same digits are different grants", function*(f) {
      for (const [a, ofA, b, ofB] of confusable(yield* madeUntilRelated(f.application()))) {
        const [userA, userB] = [UserId.make(ofA), UserId.make(ofB)]
        const user = yield* f.user()
        const grant = f.newGrant(a, { ...user, id: userA })
        if (
          Option.isSome(yield* f.findGrant(a.id, userA)) || Option.isSome(yield* f.findGrant(b.id, userB))
        ) continue
        yield* f.grants.save(only(grant))
        same(yield* f.findGrant(b.id, userB), Option.none(), `application ${b.id}, user ${userB}`)
        const other = f.newGrant(b, { ...user, id: userB }, { scope: ["other"] })
        yield* f.grants.save(only(other))
        yield* f.grants.save(only(following(grant, { scope: ["next"] })))
        const both = [other, following(grant, { scope: ["next"] })]
        const asked = [...both, ...both].map(({ applicationId, userId }) => f.findGrant(applicationId, userId))
        same(yield* Effect.all(asked, { concurrency: "unbounded" }), [...both, ...both], "found together")
        for (
          const [found, status] of [[following(grant, { scope: ["next"] }), "revoked"], [other, "revoked"]] as const
        ) {
          yield* f.grants.save(only(following(found, { status })))
        }
      }
    }),
    storeLaw(
      "deliveries of objects and subscriptions whose numbers have the same digits do not wait for each other",
      function*(f) {
        const numbered = Effect.map(f.subscribed, ({ app, subscription: { id } }) => ({ app, id }))
        for (const [a, ofA, b, ofB] of confusable(yield* madeUntilRelated(numbered))) {
          const users = (["athlete", "organizer"] as const).map((objectType) =>
            f.event(ofA, early, { aspectType: "deleted", objectType, updates: {} })
          )
          yield* f.enqueue(a.app, [f.event(ofA, early), ...users])
          yield* f.enqueue(b.app, [f.event(ofB, early)])
          const claimed = yield* f.claimAt(-1000)
          const mine = claimed.filter(({ subscription: { id } }) => id === a.id || id === b.id)
          same(mine.map(({ delivery }) => [delivery.subscriptionId, delivery.event.objectId]), [
            [a.id, ofA],
            [a.id, ofA],
            [a.id, ofA],
            [b.id, ofB]
          ], "what is claimed")
          yield* f.settle(mine)
        }
        yield* f.cleanUp
      }
    ),
    storeLaw(
      "events of objects with large numbers that are close to each other do not wait for each other",
      function*(f) {
        const { app, subscription } = yield* f.subscribed
        const large = [2 ** 24, 2 ** 31, 2 ** 32, 2 ** 52].flatMap((number) => [number, number + 1, number + 2])
        const objects = [1, 2, ...large, maxId - 1, maxId]
        yield* f.queue(app, f.events(objects, early))
        const claimed = yield* f.claimAt(-1000)
        const mine = claimed.filter((one) => one.subscription.id === subscription.id)
        same(mine.map(({ delivery }) => delivery.event.objectId), objects)
        yield* f.cleanUp
      }
    ),
    storeLaw(
      "objects of two subscriptions do not wait for each other if their numbers differ by a round one",
      function*(f) {
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
      }
    ),
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
      const [upper, lower] = ["ABCdef", "abcDEF"].map((text) => TokenHash.make(text.repeat(7)))
      if (upper === undefined || lower === undefined) return
      const app = yield* f.application()
      const secrets = [upper, lower].map((hash) => ({ hash, expiresAt: Option.none() }))
      yield* f.applications.save({ ...app, version: 2, secrets })
      same(Option.map(yield* f.applications.find(app.id), (found) => found.secrets), secrets)
      const owner = yield* f.user()
      const grant = yield* f.grant(app, owner, { codes: [f.code({ hash: upper }), f.code({ hash: lower })] })
      same(yield* f.findGrant(app.id, owner.id), grant)
    })
  ]
}

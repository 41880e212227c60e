/** Laws of the grant store. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import type { Application } from "@startlist/core/Application"
import type { Grant } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import type { Law, LawGroup } from "../Law.ts"
import { count, holds, race, same, sorted, tagOf } from "./expecting.ts"
import { at, type Fixture, following, only } from "./fixture.ts"
import { forEach, storeLaw } from "./storeLaw.ts"

const scope = FastCheck.array(Arbitraries.scopeName, { maxLength: 4 })
const span = FastCheck.tuple(Arbitraries.instant, Arbitraries.instant)

const grantFields = FastCheck.record({
  scopes: FastCheck.tuple(scope, scope, scope),
  epoch: FastCheck.nat(),
  generation: FastCheck.nat(),
  grantedAt: Arbitraries.instant,
  role: FastCheck.constantFrom<Grant["role"]>("platform", "organizer", "club", "athlete"),
  status: FastCheck.constantFrom<Grant["status"]>("active", "revoked"),
  refresh: Arbitraries.option(span),
  codes: FastCheck.array(
    FastCheck.record({
      redirectUri: Arbitraries.text(),
      scope,
      state: Arbitraries.option(Arbitraries.text(4096)),
      challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
      expiresAt: Arbitraries.instant,
      redeemed: FastCheck.boolean()
    }),
    { maxLength: 20 }
  ),
  // Several tokens share a scope: that of the grant, or of an earlier consent.
  tokens: FastCheck.array(FastCheck.tuple(span, FastCheck.nat(2)), { maxLength: 20 })
})

/** Saves each of these grants once to three times at the same time, each time with other events. */
const oneOfEach = (f: Fixture, app: Application, grants: ReadonlyArray<Grant>) =>
  Effect.gen(function*() {
    const saves = grants.flatMap((grant, place) =>
      Array.from({ length: place % 3 + 1 }, (_, generation) => ({ ...grant, generation }))
    )
    const eventsOf = ({ generation, userId }: Grant) => Array.from({ length: generation }, () => f.event(userId))
    const results = yield* race(
      saves.map((grant) => f.grants.save({ grant, outgoing: f.outgoing(app, ...eventsOf(grant)) }))
    )
    const saved = saves.filter((_, place) => results[place] === "success")
    same(saved.map(({ userId }) => userId), grants.map(({ userId }) => userId), "owners of the grants that were saved")
    same(count(results, "Conflict"), saves.length - saved.length, "number of saves that were refused")
    for (const grant of saved) same(yield* f.findGrant(app.id, grant.userId), grant)
    const objects = saved.flatMap(({ generation, userId }) => Array.from({ length: generation }, () => Number(userId)))
    same(sorted(yield* f.listedObjects(app)), sorted(objects), "events of the grants that were saved")
  })

const savesOfGrants: LawGroup<Stores> = {
  about: "saves of grants",
  laws: [
    storeLaw("a grant is found as it was saved last, with all codes and tokens", function*(f) {
      const app = yield* f.application()
      const arbitrary = grantFields.map(({ codes, refresh, scopes, tokens, ...fields }) => ({
        ...fields,
        scope: scopes[0],
        refresh: Option.map(refresh, ([issuedAt, expiresAt]) => f.refresh({ issuedAt, expiresAt })),
        codes: codes.map(f.code),
        access: AccessTokens.fromArray(
          tokens.map(([[createdAt, expiresAt], kind]) => f.access({ createdAt, expiresAt, scope: scopes[kind] ?? [] }))
        )
      }))
      yield* forEach(FastCheck.tuple(arbitrary, arbitrary), 25, function*([before, after]) {
        const owner = yield* f.user()
        const grant = f.newGrant(app, owner, before)
        yield* f.grants.save(only(grant))
        same(yield* f.findGrant(app.id, owner.id), grant)
        const next = following(grant, after)
        yield* f.grants.save(only(next))
        same(yield* f.findGrant(app.id, owner.id), next)
        same(yield* f.grants.listByUser(owner.id), next.status === "active" ? [next] : [])
        for (const version of [1, 2, 4]) {
          same(yield* tagOf(f.grants.save(only({ ...next, version }))), "Conflict", `version ${version} over version 2`)
        }
        same(yield* f.findGrant(app.id, owner.id), next, "after refused saves")
      })
    }),
    storeLaw("of parallel first saves of a grant one is stored, with its events", function*(f) {
      for (let round = 0; round < 6; round++) {
        const { app } = yield* f.subscribed
        const owners = yield* Effect.all(Array.from({ length: 12 }, () => f.user()))
        yield* oneOfEach(f, app, owners.map((owner) => f.newGrant(app, owner)))
        yield* f.cleanUp
      }
    }),
    storeLaw("of parallel saves of a grant over one version one is stored, with its events", function*(f) {
      const { app } = yield* f.subscribed
      const firsts = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => Effect.flatMap(f.user(), (owner) => f.grant(app, owner))
      )
      yield* oneOfEach(f, app, firsts.map((first) => following(first)))
      yield* f.cleanUp
    })
  ]
}

/** Saves in turn of two records that one find returns, and finds at the same time. */
const moments: Law<Stores> = storeLaw(
  "a find shows an application and a grant at one moment, and no earlier one than the last save that had returned",
  function*(f) {
    const app = yield* f.application()
    const grant = yield* f.grant(app, yield* f.user())
    const ends = (yield* Clock.currentTimeMillis) + 200
    let saved = 0
    let isDone = false
    const saving = Effect.gen(function*() {
      for (let n = 1; n <= 300 && (n <= 30 || (yield* Clock.currentTimeMillis) < ends); n++) {
        yield* f.applications.save({ ...app, epoch: n, version: n + 1 })
        yield* f.grants.save(only({ ...grant, generation: n, version: n + 1 }))
        saved = n
      }
      isDone = true
    })
    const finding = Effect.gen(function*() {
      while (!isDone) {
        const before = saved
        const found = Option.getOrThrow(yield* f.grants.find(app.id, grant.userId))
        const [first, then] = [found.application.epoch, found.grant.generation]
        holds(then >= before, `generation ${then} is found after generation ${before} was saved`)
        holds(first - then === 0 || first - then === 1, `epoch ${first} and generation ${then} were stored together`)
        yield* Effect.yieldNow()
      }
    })
    yield* Effect.all([saving, finding, finding, finding], { concurrency: "unbounded" })
  }
)

const findsOfGrants: LawGroup<Stores> = {
  about: "finds of grants",
  laws: [
    moments,
    storeLaw("parallel finds each get their own answer", function*(f) {
      const [app, other] = [yield* f.application(), yield* f.application()]
      const known = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.flatMap(f.user(), (owner) => f.grant(app, owner, { refresh: Option.some(f.refresh()) }))
      )
      yield* Effect.forEach(known, (grant) =>
        Effect.gen(function*() {
          same(yield* f.findGrant(app.id, grant.userId), grant)
          same(yield* f.findGrant(other.id, grant.userId), Option.none())
        }), { concurrency: "unbounded" })
    }),
    storeLaw("finds get their own answers, also if others that began with them are interrupted", function*(f) {
      const app = yield* f.application()
      const owners = yield* Effect.all(Array.from({ length: 12 }, () => f.user()))
      const known = yield* Effect.forEach(owners, (owner) => f.grant(app, owner))
      for (let round = 0; round < 12; round++) {
        const fibers = yield* Effect.forEach(known, ({ userId }) => Effect.fork(f.findGrant(app.id, userId)))
        yield* round % 2 === 0 ? Effect.yieldNow() : Effect.sleep(0)
        yield* Effect.forEach(fibers, (fiber, place) => place % 3 === 0 ? Fiber.interruptFork(fiber) : Effect.void)
        for (const [place, fiber] of fibers.entries()) {
          if (place % 3 !== 0) same(yield* Fiber.join(fiber), known[place])
        }
      }
    }),
    storeLaw("an application's list has its active grants, at most the limit", function*(f) {
      const [app, other] = [yield* f.application(), yield* f.application()]
      const users = [yield* f.user(), yield* f.user(), yield* f.user(), yield* f.user()]
      // In the order of users or of saves, a revoked grant is in front of the active ones.
      const made = yield* Effect.forEach(users.sort((a, b) => a.id - b.id), (user) => f.grant(app, user))
      const stays = made.slice(1, 3)
      for (const one of made) {
        if (!stays.includes(one)) yield* f.grants.save(only(following(one, { status: "revoked" })))
      }
      for (const user of users) yield* f.grant(other, user)
      const byUser = (list: ReadonlyArray<Grant>) => [...list].sort((a, b) => a.userId - b.userId)
      same(byUser(yield* f.grants.listByApplication(app.id, 10)), byUser(stays))
      same(byUser(yield* f.grants.listByApplication(app.id, 2)), byUser(stays))
      same((yield* f.grants.listByApplication(app.id, 1)).length, 1)
    }),
    storeLaw("a user's list has the active grants, oldest first", function*(f) {
      const owner = yield* f.user()
      const [a, b, c, d] = yield* Effect.all([f.application(), f.application(), f.application(), f.application()])
      yield* f.grant(c, owner, { grantedAt: DateTime.unsafeMake(999) })
      yield* f.grant(a, owner, { grantedAt: at(1.003) })
      const revoked = yield* f.grant(b, owner, { grantedAt: at(0) })
      yield* f.grants.save(only(following(revoked, { status: "revoked" })))
      yield* f.grant(d, owner, { grantedAt: at(1.002) })
      yield* f.grant(d, yield* f.user(), { grantedAt: at(1) })
      const list = yield* f.grants.listByUser(owner.id)
      same(list.map(({ applicationId }) => applicationId), [c.id, d.id, a.id])
      same(list[0], { ...revoked, applicationId: c.id, grantedAt: DateTime.unsafeMake(999) })
    })
  ]
}

export const grantLaws: ReadonlyArray<LawGroup<Stores>> = [savesOfGrants, findsOfGrants]

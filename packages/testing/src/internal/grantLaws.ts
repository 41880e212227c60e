/** Laws of the grant store: saving and purging. */
import { expect } from "@effect/vitest"
import { Audience } from "@startlist/core/Event"
import { Grant } from "@startlist/core/Grant"
import type { Change } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { count, race, same, tagOf } from "./expecting.ts"
import { at, type Fixture, following, make, only, start } from "./fixture.ts"

const saves: LawGroup<Stores> = {
  about: "saves of grants",
  laws: [
    law("a grant and its credentials are found as they were saved", () =>
      Effect.gen(function*() {
        const { application, code, grants, newGrant, tokens, user } = yield* make
        const app = yield* application()
        const scope = FastCheck.array(Arbitraries.nonEmptyText(), { maxLength: 4 })
        const any = FastCheck.record({
          scope,
          epoch: FastCheck.nat(),
          generation: FastCheck.nat(),
          grantedAt: Arbitraries.instant,
          issuedAt: Arbitraries.option(Arbitraries.instant),
          status: FastCheck.constantFrom<Grant["status"]>("active", "revoked"),
          redirectUri: Arbitraries.text(),
          state: Arbitraries.option(Arbitraries.text(4096)),
          challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
          expiresAt: Arbitraries.instant
        })
        yield* forAll(FastCheck.tuple(any, any), ([a, b]) =>
          Effect.gen(function*() {
            const owner = yield* user()
            const { challenge, epoch, expiresAt, redirectUri, state, ...fields } = a
            const grant = newGrant(app, owner, { ...fields, epoch })
            const pending = code({ challenge, epoch, expiresAt, redirectUri, scope: b.scope, state })
            const issued = tokens(b.generation, b.expiresAt)
            yield* grants.save({ ...only(grant), code: Option.some(pending), issued: Option.some(issued) })
            same(yield* grants.find(app.id, owner.id), grant)
            same(yield* grants.findByCode(pending.hash), { grant, credential: pending })
            same(yield* grants.findByRefresh(issued.refresh.hash), { grant, credential: issued.refresh })
            same(yield* grants.findByAccess(issued.access.hash), { grant, credential: issued.access })
            const { grantedAt, issuedAt, status } = b
            const next = following(grant, { epoch: b.epoch, generation: b.generation, grantedAt, issuedAt, status })
            yield* grants.save(only(next))
            same(yield* grants.find(app.id, owner.id), next)
          }), { numRuns: 25 })
      })),
    law(
      "a save is accepted over the version before it and no other; version 1 only where there is none",
      () =>
        Effect.gen(function*() {
          const { application, grants, newGrant, user } = yield* make
          const app = yield* application()
          const owner = yield* user()
          const save = (version: number) => grants.save(only(newGrant(app, owner, { version })))
          expect(yield* tagOf(save(2)), "version 2 where there is none").toBe("Conflict")
          same(yield* grants.find(app.id, owner.id), Option.none())
          yield* save(1)
          expect(yield* tagOf(save(1)), "version 1 where there is one").toBe("Conflict")
          yield* save(2)
          expect(yield* tagOf(save(2)), "a stale version").toBe("Conflict")
          expect(yield* tagOf(save(4)), "a skipped version").toBe("Conflict")
          same(yield* grants.find(app.id, owner.id), newGrant(app, owner, { version: 2 }))
        })
    ),
    law(
      "a refused save leaves nothing: no code, no token, no mark on a code, no delivery",
      () =>
        Effect.gen(function*() {
          const { code, event, grant, grants, listed, subscribed, tokens, user } = yield* make
          const { app } = yield* subscribed
          const owner = yield* user()
          const first = yield* grant(app, owner)
          const used = code()
          yield* grants.save({ ...only(following(first)), code: Option.some(used) })
          const refused: Change = {
            grant: following(first, { status: "revoked" }),
            code: Option.some(code()),
            redeemed: Option.some(used.hash),
            issued: Option.some(tokens(1)),
            outgoing: [{ event: event(1), audience: Audience.Application({ applicationId: app.id }) }]
          }
          expect(yield* tagOf(grants.save(refused))).toBe("Conflict")
          const [newCode, issued] = [Option.getOrThrow(refused.code), Option.getOrThrow(refused.issued)]
          same(yield* grants.findByCode(newCode.hash), Option.none())
          same(yield* grants.findByAccess(issued.access.hash), Option.none())
          same(yield* grants.findByRefresh(issued.refresh.hash), Option.none())
          same(yield* grants.findByCode(used.hash), { grant: following(first), credential: used })
          same(yield* listed(app), [])
        })
    ),
    law(
      "of parallel first saves of one grant exactly one succeeds, and only its code is found",
      () =>
        Effect.gen(function*() {
          const { application, code, grants, newGrant, user } = yield* make
          const app = yield* application()
          const owner = yield* user()
          const codes = Array.from({ length: 8 }, () => code())
          const results = yield* race(
            codes.map((one) => grants.save({ ...only(newGrant(app, owner)), code: Option.some(one) }))
          )
          expect(count(results, "success")).toBe(1)
          expect(count(results, "Conflict")).toBe(7)
          const found = yield* Effect.forEach(codes, ({ hash }) => grants.findByCode(hash))
          expect(found.map((one) => Option.isSome(one) ? "success" : "Conflict")).toStrictEqual(results)
        })
    ),
    law(
      "of parallel saves of one version exactly one succeeds, and only its tokens and deliveries are there",
      () =>
        Effect.gen(function*() {
          const { event, grant, grants, listed, subscribed, tokens, user } = yield* make
          const { app } = yield* subscribed
          const first = yield* grant(app, yield* user())
          const changes = Array.from({ length: 12 }, (_, index): Change => ({
            ...only(following(first, { generation: 1 })),
            issued: Option.some(tokens(1)),
            outgoing: [{ event: event(1, at(index)), audience: Audience.Application({ applicationId: app.id }) }]
          }))
          const results = yield* race(changes.map(grants.save))
          expect(count(results, "success")).toBe(1)
          expect(count(results, "Conflict")).toBe(11)
          const found = yield* Effect.forEach(
            changes,
            ({ issued }) => grants.findByRefresh(Option.getOrThrow(issued).refresh.hash)
          )
          expect(found.map((one) => Option.isSome(one) ? "success" : "Conflict")).toStrictEqual(results)
          same((yield* listed(app)).map(({ dueAt }) => dueAt), [at(results.indexOf("success"))])
        })
    ),
    law(
      "parallel saves of different grants, and repeats of some among them, do not disturb each other",
      () =>
        Effect.gen(function*() {
          const { application, grant, grants, tokens, user } = yield* make
          const app = yield* application()
          const firsts = yield* Effect.all(
            Array.from({ length: 12 }, () => Effect.flatMap(user(), (u) => grant(app, u)))
          )
          const changes = firsts.flatMap((first, index) =>
            Array.from({ length: index % 3 + 1 }, (): Change => ({
              ...only(following(first, { generation: 1 })),
              issued: Option.some(tokens(1))
            }))
          )
          const results = yield* race(changes.map(grants.save))
          expect(count(results, "success")).toBe(12)
          expect(count(results, "Conflict")).toBe(12)
          for (const first of firsts) {
            same(yield* grants.find(app.id, first.userId), following(first, { generation: 1 }))
          }
        })
    )
  ]
}

/** Long before anything else happens. */
const long = (seconds: number) => DateTime.subtract(start, { days: 20_000, seconds: -seconds })

/** Removes what other laws left from that time. */
const clearExpired = ({ grants }: Fixture) =>
  Effect.repeat(grants.purge(long(100), 1000), { until: (count) => count === 0 })

const purges: LawGroup<Stores> = {
  about: "purges of credentials",
  laws: [
    law(
      "a purge removes the tokens and codes that expired by its cutoff, used or not, and no grant",
      () =>
        Effect.gen(function*() {
          const fixture = yield* make
          const { application, code, grant, grants, tokens, user } = fixture
          yield* clearExpired(fixture)
          const app = yield* application()
          let present = yield* grant(app, yield* user())
          const save = (change: Partial<Change>) =>
            Effect.suspend(() => {
              present = following(present)
              return grants.save({ ...only(present), ...change })
            })
          // Neither kind stands in the order in which it expires.
          const pairs = [30, 10, 20].map((expiry, index) => tokens(index + 1, long(expiry)))
          const codes = [35, 15, 25].map((expiry) => code({ expiresAt: long(expiry) }))
          for (const pair of pairs) yield* save({ issued: Option.some(pair) })
          for (const one of codes) yield* save({ code: Option.some(one) })
          for (const one of codes.slice(0, 2)) yield* save({ redeemed: Option.some(one.hash) })
          const remaining = Effect.gen(function*() {
            const access = yield* Effect.forEach(pairs, (pair) => grants.findByAccess(pair.access.hash))
            const refresh = yield* Effect.forEach(pairs, (pair) => grants.findByRefresh(pair.refresh.hash))
            const left = yield* Effect.forEach(codes, (one) => grants.findByCode(one.hash))
            return [access, refresh, left].map((kind) => kind.map(Option.isSome))
          })
          expect(yield* grants.purge(long(14), 100)).toBe(2)
          expect(yield* remaining).toStrictEqual([[true, false, true], [true, false, true], [true, true, true]])
          expect(yield* grants.purge(long(25), 100)).toBe(4)
          expect(yield* remaining).toStrictEqual([[true, false, false], [true, false, false], [true, false, false]])
          same(yield* grants.find(app.id, present.userId), present)
          expect(yield* grants.purge(long(40), 100)).toBe(3)
        })
    ),
    law("a purge removes at most its limit and says how many went", () =>
      Effect.gen(function*() {
        const fixture = yield* make
        const { application, code, grant, grants, tokens, user } = fixture
        yield* clearExpired(fixture)
        const app = yield* application()
        let present = yield* grant(app, yield* user())
        for (let n = 0; n < 3; n++) {
          present = following(present)
          yield* grants.save({
            ...only(present),
            code: Option.some(code({ expiresAt: long(n) })),
            issued: Option.some(tokens(n, long(n)))
          })
        }
        const batch = grants.purge(long(10), 4)
        expect(yield* Effect.all([batch, batch, batch, batch])).toStrictEqual([4, 4, 1, 0])
      }))
  ]
}

export const grantLaws: ReadonlyArray<LawGroup<Stores>> = [saves, purges]

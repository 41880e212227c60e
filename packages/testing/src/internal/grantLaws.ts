/** Laws of the grant store: saving. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import { Audience } from "@startlist/core/Event"
import type { Change, Grant } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Arbitraries from "../Arbitraries.ts"
import { forAll, law, type LawGroup } from "../Law.ts"
import { count, race, same, tagOf } from "./expecting.ts"
import { at, following, make, only } from "./fixture.ts"

const saves: LawGroup<Stores> = {
  about: "saves of grants",
  laws: [
    law("a grant is found as it was saved last, with all codes and tokens", () =>
      Effect.gen(function*() {
        const { access, application, code, grants, newGrant, refresh, user } = yield* make
        const app = yield* application()
        const scope = FastCheck.array(Arbitraries.scopeName, { maxLength: 4 })
        const span = FastCheck.tuple(Arbitraries.instant, Arbitraries.instant)
        const codes = FastCheck.array(
          FastCheck.record({
            redirectUri: Arbitraries.text(),
            scope,
            state: Arbitraries.option(Arbitraries.text(4096)),
            challenge: Arbitraries.option(Arbitraries.nonEmptyText(43)),
            expiresAt: Arbitraries.instant,
            redeemed: FastCheck.boolean()
          }).map((fields) => code(fields)),
          { maxLength: 20 }
        )
        const tokens = FastCheck.array(
          FastCheck.tuple(span, FastCheck.nat(2)).map(([[createdAt, expiresAt], kind]) => ({
            createdAt,
            expiresAt,
            kind
          })),
          { maxLength: 20 }
        )
        const any = FastCheck.record({
          scopes: FastCheck.tuple(scope, scope, scope),
          epoch: FastCheck.nat(),
          generation: FastCheck.nat(),
          grantedAt: Arbitraries.instant,
          role: FastCheck.constantFrom<Grant["role"]>("platform", "organizer", "club", "athlete"),
          status: FastCheck.constantFrom<Grant["status"]>("active", "revoked"),
          refresh: Arbitraries.option(span.map(([issuedAt, expiresAt]) => refresh({ issuedAt, expiresAt }))),
          codes,
          tokens
        }).map(({ scopes, tokens, ...fields }) => ({
          ...fields,
          scope: scopes[0],
          // Several tokens have the same scope, as of the grant or of an earlier consent.
          access: AccessTokens.fromArray(
            tokens.map(({ kind, ...fields }) => access({ ...fields, scope: scopes[kind] ?? scopes[0] }))
          )
        }))
        yield* forAll(FastCheck.tuple(any, any), ([before, after]) =>
          Effect.gen(function*() {
            const owner = yield* user()
            const grant = newGrant(app, owner, before)
            yield* grants.save(only(grant))
            same(yield* grants.find(app.id, owner.id), grant)
            const next = following(grant, after)
            yield* grants.save(only(next))
            same(yield* grants.find(app.id, owner.id), next)
            same(yield* grants.listByUser(owner.id), next.status === "active" ? [next] : [])
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
          same(yield* tagOf(save(2)), "Conflict", "version 2 where there is none")
          same(yield* grants.find(app.id, owner.id), Option.none())
          yield* save(1)
          same(yield* tagOf(save(1)), "Conflict", "version 1 where there is one")
          yield* save(2)
          same(yield* tagOf(save(2)), "Conflict", "a stale version")
          same(yield* tagOf(save(4)), "Conflict", "a skipped version")
          same(yield* grants.find(app.id, owner.id), newGrant(app, owner, { version: 2 }))
        })
    ),
    law(
      "a refused save leaves nothing: no change of the grant, no delivery",
      () =>
        Effect.gen(function*() {
          const { event, grant, grants, listed, refresh, subscribed, user } = yield* make
          const { app } = yield* subscribed
          const owner = yield* user()
          const first = yield* grant(app, owner)
          const second = following(first, { refresh: Option.some(refresh()) })
          yield* grants.save(only(second))
          const refused: Change = {
            grant: following(first, { status: "revoked" }),
            outgoing: [{ event: event(1), audience: Audience.Application({ applicationId: app.id }) }]
          }
          same(yield* tagOf(grants.save(refused)), "Conflict")
          same(yield* grants.find(app.id, owner.id), second)
          same(yield* listed(app), [])
        })
    ),
    law(
      "of parallel first saves of one grant exactly one succeeds, and it is the one that is found",
      () =>
        Effect.gen(function*() {
          const { application, code, grants, newGrant, user } = yield* make
          const app = yield* application()
          const owner = yield* user()
          const all = Array.from({ length: 8 }, () => newGrant(app, owner, { codes: [code()] }))
          const results = yield* race(all.map((grant) => grants.save(only(grant))))
          same(count(results, "success"), 1)
          same(count(results, "Conflict"), 7)
          same(yield* grants.find(app.id, owner.id), all[results.indexOf("success")])
        })
    ),
    law(
      "of parallel saves of one version exactly one succeeds, and only its grant and its deliveries are there",
      () =>
        Effect.gen(function*() {
          const { event, grant, grants, listed, refresh, subscribed, user } = yield* make
          const { app } = yield* subscribed
          const first = yield* grant(app, yield* user())
          const changes = Array.from({ length: 12 }, (_, index): Change => ({
            grant: following(first, { generation: 1, refresh: Option.some(refresh()) }),
            outgoing: [{ event: event(1, at(index)), audience: Audience.Application({ applicationId: app.id }) }]
          }))
          const results = yield* race(changes.map(grants.save))
          same(count(results, "success"), 1)
          same(count(results, "Conflict"), 11)
          const saved = results.indexOf("success")
          same(yield* grants.find(app.id, first.userId), changes[saved]?.grant)
          same((yield* listed(app)).map(({ dueAt }) => dueAt), [at(saved)])
        })
    ),
    law(
      "parallel saves of different grants, and repeats of some among them, do not disturb each other",
      () =>
        Effect.gen(function*() {
          const { application, grant, grants, user } = yield* make
          const app = yield* application()
          const firsts = yield* Effect.all(
            Array.from({ length: 12 }, () => Effect.flatMap(user(), (u) => grant(app, u)))
          )
          const changes = firsts.flatMap((first, index) =>
            Array.from({ length: index % 3 + 1 }, () => only(following(first, { generation: 1 })))
          )
          const results = yield* race(changes.map(grants.save))
          same(count(results, "success"), 12)
          same(count(results, "Conflict"), 12)
          for (const first of firsts) {
            same(yield* grants.find(app.id, first.userId), following(first, { generation: 1 }))
          }
        })
    )
  ]
}

export const grantLaws: ReadonlyArray<LawGroup<Stores>> = [saves]

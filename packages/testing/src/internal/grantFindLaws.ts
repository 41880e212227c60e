/** Laws of the grant store: finding. */
import { expect } from "@effect/vitest"
import { Grant } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import { Code } from "@startlist/core/Token"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, following, make, only } from "./fixture.ts"

export const grantFindLaws: LawGroup<Stores> = {
  about: "finds of grants",
  laws: [
    law("a credential comes with its grant as it is now, replaced and revoked ones too", () =>
      Effect.gen(function*() {
        const { application, code, grant, grants, tokens, user } = yield* make
        const app = yield* application()
        const first = yield* grant(app, yield* user())
        const old = tokens(1)
        const used = code()
        const second = following(first, { generation: 1 })
        yield* grants.save({ ...only(second), code: Option.some(used), issued: Option.some(old) })
        const third = following(second, { generation: 2 })
        const redeemed = Option.some(used.hash)
        yield* grants.save({ ...only(third), redeemed, issued: Option.some(tokens(2)) })
        const revoked = following(third, { status: "revoked" })
        yield* grants.save(only(revoked))
        same(yield* grants.findByRefresh(old.refresh.hash), { grant: revoked, credential: old.refresh })
        same(yield* grants.findByAccess(old.access.hash), { grant: revoked, credential: old.access })
        const credential = Code.make({ ...used, redeemed: true })
        same(yield* grants.findByCode(used.hash), { grant: revoked, credential })
      })),
    law("a redeemed code is marked, and no other", () =>
      Effect.gen(function*() {
        const { application, code, grant, grants, user } = yield* make
        const app = yield* application()
        const first = yield* grant(app, yield* user())
        const [used, other] = [code(), code()]
        const second = following(first)
        yield* grants.save({ ...only(second), code: Option.some(used) })
        const third = following(second)
        yield* grants.save({ ...only(third), code: Option.some(other) })
        yield* grants.save({ ...only(following(third)), redeemed: Option.some(used.hash) })
        const isRedeemed = (one: Code) =>
          Effect.map(grants.findByCode(one.hash), Option.map(({ credential }) => credential.redeemed))
        same(yield* isRedeemed(used), true)
        same(yield* isRedeemed(other), false)
      })),
    law("a fingerprint is found only as the kind of credential that it belongs to", () =>
      Effect.gen(function*() {
        const { application, code, grant, grants, hash, tokens, user } = yield* make
        const app = yield* application()
        const first = yield* grant(app, yield* user())
        const pending = code()
        const { access, refresh } = tokens(1)
        const issued = Option.some({ access, refresh })
        yield* grants.save({ ...only(following(first)), code: Option.some(pending), issued })
        for (const wrong of [access.hash, refresh.hash, hash()]) {
          same(yield* grants.findByCode(wrong), Option.none())
        }
        for (const wrong of [pending.hash, refresh.hash, hash()]) {
          same(yield* grants.findByAccess(wrong), Option.none())
        }
        for (const wrong of [pending.hash, access.hash, hash()]) {
          same(yield* grants.findByRefresh(wrong), Option.none())
        }
      })),
    law("parallel finds each get their own answer", () =>
      Effect.gen(function*() {
        const { application, grant, grants, hash, tokens, user } = yield* make
        const app = yield* application()
        const known = yield* Effect.forEach(Array.from({ length: 20 }), () =>
          Effect.gen(function*() {
            const next = following(yield* grant(app, yield* user()))
            const issued = tokens(1)
            yield* grants.save({ ...only(next), issued: Option.some(issued) })
            return { grant: next, issued }
          }))
        yield* Effect.forEach(known, ({ grant, issued }) =>
          Effect.gen(function*() {
            same(yield* grants.findByAccess(issued.access.hash), { grant, credential: issued.access })
            same(yield* grants.findByRefresh(issued.refresh.hash), { grant, credential: issued.refresh })
            same(yield* grants.findByAccess(hash()), Option.none())
          }), { concurrency: "unbounded" })
      })),
    law("a find sees every save that has returned, whatever else is going on", () =>
      Effect.gen(function*() {
        const { application, grant, grants, tokens, user } = yield* make
        const app = yield* application()
        const noise = yield* grant(app, yield* user())
        const background = Effect.repeat(grants.find(app.id, noise.userId), { times: 40 })
        const rounds = Effect.gen(function*() {
          let present = yield* grant(app, yield* user())
          const issued = tokens(1)
          for (let round = 0; round < 20; round++) {
            present = following(present, { status: round % 2 === 0 ? "revoked" : "active" })
            yield* grants.save(round === 0 ? { ...only(present), issued: Option.some(issued) } : only(present))
            same(yield* grants.findByAccess(issued.access.hash), { grant: present, credential: issued.access })
          }
        })
        yield* Effect.all([rounds, rounds, background], { concurrency: "unbounded" })
      })),
    law("grants of other users and other applications stay apart", () =>
      Effect.gen(function*() {
        const { application, grant, grants, user } = yield* make
        const [one, two] = [yield* application(), yield* application()]
        const [ada, bob] = [yield* user(), yield* user()]
        const first = yield* grant(one, ada, { scope: ["one"] })
        const second = yield* grant(two, ada, { scope: ["two"] })
        yield* grants.save(only(following(first, { status: "revoked" })))
        same(yield* grants.find(two.id, ada.id), second)
        same(yield* grants.find(one.id, bob.id), Option.none())
      })),
    law("a user's list has the active grants, oldest first", () =>
      Effect.gen(function*() {
        const { application, grant, grants, user } = yield* make
        const owner = yield* user()
        const apps = yield* Effect.all([application(), application(), application(), application()])
        const [a, b, c, d] = apps
        yield* grant(c, owner, { grantedAt: at(1) })
        yield* grant(a, owner, { grantedAt: at(3) })
        const revoked = yield* grant(b, owner, { grantedAt: at(0) })
        yield* grants.save(only(following(revoked, { status: "revoked" })))
        yield* grant(d, owner, { grantedAt: at(2) })
        yield* grant(d, yield* user(), { grantedAt: at(1) })
        const list = yield* grants.listByUser(owner.id)
        expect(list.map(({ applicationId }) => applicationId)).toStrictEqual([c.id, d.id, a.id])
        same(list[0], Grant.make({ ...revoked, applicationId: c.id, grantedAt: at(1) }))
      }))
  ]
}

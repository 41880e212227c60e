/** Laws of the grant store: finding. */
import { Grant } from "@startlist/core/Grant"
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { law, type LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { at, following, make, only } from "./fixture.ts"

export const grantFindLaws: LawGroup<Stores> = {
  about: "finds of grants",
  laws: [
    law("parallel finds each get their own answer", () =>
      Effect.gen(function*() {
        const { application, grant, grants, refresh, user } = yield* make
        const [app, other] = [yield* application(), yield* application()]
        const known = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.flatMap(user(), (owner) => grant(app, owner, { refresh: Option.some(refresh()) }))
        )
        yield* Effect.forEach(known, (grant) =>
          Effect.gen(function*() {
            same(yield* grants.find(app.id, grant.userId), grant)
            same(yield* grants.find(other.id, grant.userId), Option.none())
          }), { concurrency: "unbounded" })
      })),
    law("a find sees every save that has returned, whatever else is going on", () =>
      Effect.gen(function*() {
        const { application, grant, grants, user } = yield* make
        const app = yield* application()
        const noise = yield* grant(app, yield* user())
        const background = Effect.repeat(grants.find(app.id, noise.userId), { times: 40 })
        const rounds = Effect.gen(function*() {
          let present = yield* grant(app, yield* user())
          for (let round = 0; round < 20; round++) {
            present = following(present, { status: round % 2 === 0 ? "revoked" : "active" })
            yield* grants.save(only(present))
            same(yield* grants.find(app.id, present.userId), present)
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
        same(list.map(({ applicationId }) => applicationId), [c.id, d.id, a.id])
        same(list[0], Grant.make({ ...revoked, applicationId: c.id, grantedAt: at(1) }))
      }))
  ]
}

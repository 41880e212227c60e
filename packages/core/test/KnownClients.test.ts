/** A node that has a copy of an application answers as one that has none (laws 2 and 14), and finds it less often. */
import { describe, expect, it } from "@effect/vitest"
import { Application, Applications, Grant, OAuth, Services } from "@startlist/core"
import { Duration, Effect, Layer, Redacted } from "effect"
import { type Client, connected, exchange, layer, makeClient, refresh, tokensOf } from "./support/fixture.ts"

/** Another node over the same stores, without copies. */
const elsewhere = <A, E>(use: Effect.Effect<A, E, OAuth.OAuth>) => Effect.provide(use, Layer.fresh(Services.layer))

/** The number of finds, of applications and of grants, by a node that is used from now on. */
const counting = <A, E, R>(
  use: (count: Readonly<{ applications: number; grants: number }>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const applications = yield* Application.ApplicationStore
    const grants = yield* Grant.GrantStore
    const count = { applications: 0, grants: 0 }
    const counted = Layer.merge(
      Layer.succeed(Application.ApplicationStore, {
        ...applications,
        find: (id) => {
          count.applications++
          return applications.find(id)
        }
      }),
      Layer.succeed(Grant.GrantStore, {
        ...grants,
        find: (...name) => {
          count.grants++
          return grants.find(...name)
        }
      })
    )
    return yield* Effect.provide(use(count), Layer.provide(Layer.fresh(Services.layer), counted))
  })

const changes: Readonly<
  Record<string, (client: Client) => Effect.Effect<unknown, unknown, Applications.Applications>>
> = {
  nothing: () => Effect.void,
  "a suspension": ({ id }) => Effect.flatMap(Applications.Applications, (all) => all.suspend(id)),
  "a revocation of all grants": ({ id }) => Effect.flatMap(Applications.Applications, (all) => all.revokeAll(id)),
  "the end of the application": ({ id }) => Effect.flatMap(Applications.Applications, (all) => all.end(id)),
  "the end of its secret": ({ id }) =>
    Effect.flatMap(Applications.Applications, (all) => all.rotateSecret(id, { overlap: Duration.zero }))
}

describe("a refresh", () => {
  for (const [name, change] of Object.entries(changes)) {
    it.effect(`after ${name}: a node with a copy of the application answers as one without`, () =>
      Effect.gen(function*() {
        const { client, first } = yield* connected
        const second = yield* refresh(client, first.refreshToken)
        yield* change(client)
        const without = yield* Effect.exit(elsewhere(refresh(client, second.refreshToken)))
        const token = without._tag === "Success" ? without.value.refreshToken : second.refreshToken
        const answer = yield* Effect.exit(refresh(client, token))
        if (without._tag === "Failure") expect(answer).toEqual(without)
        else expect(answer._tag).toBe("Success")
      }).pipe(Effect.provide(layer)))
  }

  it.effect("finds the application once, and again after each change and for each wrong secret", () =>
    Effect.gen(function*() {
      const { client, first } = yield* connected
      const applications = yield* Applications.Applications
      yield* counting((count) =>
        Effect.gen(function*() {
          let { refreshToken } = yield* refresh(client, first.refreshToken)
          const again = Effect.gen(function*() {
            ;({ refreshToken } = yield* refresh(client, refreshToken))
            return count.applications
          })
          expect(count.applications).toBe(1)
          expect(yield* again).toBe(1)
          yield* applications.restore((yield* applications.suspend(client.id)).id)
          expect(yield* again).toBe(2)
          expect(yield* again).toBe(2)
          const impostor = { ...client, secret: Redacted.make("wrong") }
          expect(yield* Effect.flip(refresh(impostor, refreshToken))).toMatchObject({ reason: "unknown" })
          expect(count.applications).toBe(3)
          expect(yield* again).toBe(3)
        })
      )
    }).pipe(Effect.provide(layer)))

  it.effect("of an unknown token finds its grant once", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const ofNobody = Redacted.make(Redacted.value(first.refreshToken).replace(`_${user.id}_`, "_999_"))
      const forged = Redacted.make(Redacted.value(first.refreshToken).replace(/.$/, (last) => last === "A" ? "B" : "A"))
      yield* counting((count) =>
        Effect.gen(function*() {
          const finds = (token: Redacted.Redacted<string>) =>
            Effect.gen(function*() {
              const before = { ...count }
              expect(yield* Effect.flip(refresh(client, token))).toMatchObject({ reason: "unknown" })
              return [count.applications - before.applications, count.grants - before.grants]
            })
          yield* refresh(client, first.refreshToken)
          expect(yield* finds(forged)).toEqual([0, 1])
          expect(yield* finds(ofNobody)).toEqual([1, 1])
          yield* Effect.flatMap(Applications.Applications, ({ suspend }) => suspend(client.id))
          expect(yield* Effect.flip(refresh(client, ofNobody))).toMatchObject({
            reason: "suspended"
          })
        })
      )
    }).pipe(Effect.provide(layer)))

  it.effect("of another client's token is no proof for the copy", () =>
    Effect.gen(function*() {
      const { client, first, user } = yield* connected
      const other = yield* makeClient()
      const own = yield* tokensOf(other, user)
      yield* refresh(other, own.refreshToken)
      yield* Effect.flatMap(Applications.Applications, ({ suspend }) => suspend(other.id))
      expect(yield* Effect.flip(refresh(other, first.refreshToken))).toMatchObject({ reason: "suspended" })
      yield* refresh(client, first.refreshToken)
      expect(yield* Effect.flip(exchange(other, Redacted.make("unknown")))).toMatchObject({ reason: "suspended" })
    }).pipe(Effect.provide(layer)))
})

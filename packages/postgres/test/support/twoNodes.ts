import { it } from "@effect/vitest"
import {
  Application,
  Applications,
  Authorization,
  Delivery,
  DeliveryQueue,
  Grant,
  OAuth,
  Registration,
  Registrations,
  Subscription
} from "@startlist/core"
import { Users } from "@startlist/postgres"
import { Context, DateTime, Effect, Either, Exit, Layer, Option, Redacted } from "effect"
import { describe, expect } from "vitest"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

/** Two nodes, each with its own pool, on one database. */
const nodes = Effect.gen(function*() {
  const { url } = yield* TestDatabase.TestDatabase
  const make = Layer.build(fixtures.node({ url }))
  return [yield* make, yield* make] as const
})

const registered = Effect.gen(function*() {
  const users = yield* Users.Users
  const applications = yield* Applications.Applications
  const owner = yield* users.insert({ role: "platform", email: "owner@a.test", firstName: "O", lastName: "P" })
  const athlete = yield* users.insert({ role: "athlete", email: "athlete@a.test", firstName: "A", lastName: "B" })
  const settings = { name: "App", redirectUris: ["https://app.test/callback"], requirePkce: false }
  const { application, secret } = yield* applications.create(owner.id, settings)
  return { application, athlete, owner, client: { id: application.id, secret } }
})

type Registered = Effect.Effect.Success<typeof registered>

const request = ({ application }: Registered): Authorization.AuthorizationRequest => ({
  application,
  redirectUri: "https://app.test/callback",
  scope: ["read"],
  state: Option.none(),
  role: Option.none(),
  challenge: Option.none()
})

const consented = (who: Registered) => Effect.flatMap(OAuth.OAuth, (oauth) => oauth.consent(request(who), who.athlete))

const exchanged = (who: Registered, code: Redacted.Redacted<string>) =>
  Effect.flatMap(
    OAuth.OAuth,
    (oauth) => oauth.exchange({ client: who.client, code, redirectUri: Option.none(), verifier: Option.none() })
  )

const tokens = (who: Registered) => Effect.flatMap(consented(who), (code) => exchanged(who, code))

/** Fifty in parallel, every second one on the other node. */
const fifty = <A, E>(
  one: Context.Context<Layer.Layer.Success<ReturnType<typeof fixtures.node>>>,
  two: typeof one,
  effect: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof fixtures.node>>>
) =>
  Effect.all(
    Array.from({ length: 50 }, (_, index) => Effect.either(Effect.provide(effect, index % 2 === 0 ? one : two))),
    { concurrency: "unbounded" }
  )

const subscribe = (application: Application.Application) =>
  Effect.flatMap(Subscription.SubscriptionStore, (store) =>
    store.insert({
      applicationId: application.id,
      callbackUrl: "https://app.test/events",
      createdAt: DateTime.unsafeMake(0),
      updatedAt: DateTime.unsafeMake(0)
    }))

/** The tests of two nodes on one database, which has tables. */
export const suite = (name: string, database: Layer.Layer<TestDatabase.TestDatabase>): void => {
  const onTwoNodes = <A, E>(
    test: (
      ...pair: Effect.Effect.Success<typeof nodes>
    ) => Effect.Effect<A, E, TestDatabase.TestDatabase>
  ) => Effect.flatMap(nodes, (pair) => test(...pair)).pipe(Effect.scoped, Effect.provide(database))

  describe(name, () => {
    it.live("fifty parallel refreshes with one token: exactly one succeeds, and one token is current", () =>
      onTwoNodes((one, two) =>
        Effect.gen(function*() {
          const oauth = Context.get(one, OAuth.OAuth)
          const who = yield* Effect.provide(registered, one)
          const { refreshToken } = yield* Effect.provide(tokens(who), one)
          const answers = yield* fifty(
            one,
            two,
            Effect.flatMap(OAuth.OAuth, (service) => service.refresh({ client: who.client, token: refreshToken }))
          )
          const [winners, losers] = [answers.filter(Either.isRight), answers.filter(Either.isLeft)]
          expect(winners.length).toBe(1)
          expect(
            new Set(losers.map(({ left }) => left._tag === "@startlist/core/InvalidGrant" ? left.reason : left._tag))
          ).toEqual(
            new Set(["replaced"])
          )
          const current = yield* Effect.forEach(
            [refreshToken, ...winners.map(({ right }) => right.refreshToken)],
            (token) => oauth.introspect(token, Option.none())
          )
          expect(current.map(Option.isSome)).toEqual([false, true])
        })
      ))

    it.live("fifty parallel refreshes with one token and one Idempotency-Key: all get the same response", () =>
      onTwoNodes((one, two) =>
        Effect.gen(function*() {
          const who = yield* Effect.provide(registered, one)
          const { refreshToken } = yield* Effect.provide(tokens(who), one)
          const idempotencyKey = Option.some("one")
          const answers = yield* fifty(
            one,
            two,
            Effect.flatMap(
              OAuth.OAuth,
              (service) => service.refresh({ client: who.client, token: refreshToken, idempotencyKey })
            )
          )
          const texts = answers.filter(Either.isRight).map(({ right }) => [
            Redacted.value(right.accessToken),
            Redacted.value(right.refreshToken)
          ])
          expect(texts).toEqual(Array(50).fill(texts[0]))
        })
      ))

    it.live("fifty parallel exchanges of one code: exactly one succeeds, and its tokens are valid", () =>
      onTwoNodes((one, two) =>
        Effect.gen(function*() {
          const who = yield* Effect.provide(registered, one)
          const code = yield* Effect.provide(consented(who), one)
          const answers = yield* fifty(one, two, exchanged(who, code))
          const succeeded = answers.filter(Either.isRight)
          expect(succeeded.length).toBe(1)
          for (const { right } of succeeded) {
            yield* Context.get(two, OAuth.OAuth).refresh({ client: who.client, token: right.refreshToken })
          }
          expect(answers.filter(Either.isLeft).every(({ left }) => left._tag === "@startlist/core/InvalidGrant")).toBe(
            true
          )
        })
      ))

    it.live(
      "after a revocation, no token is valid, for any concurrent refresh, 200 times",
      () =>
        onTwoNodes((one, two) =>
          Effect.gen(function*() {
            const who = yield* Effect.provide(registered, one)
            const [here, there] = [Context.get(one, OAuth.OAuth), Context.get(two, OAuth.OAuth)]
            for (let round = 0; round < 200; round++) {
              const { accessToken, refreshToken } = yield* Effect.provide(tokens(who), one)
              const [refreshed] = yield* Effect.all([
                Effect.either(there.refresh({ client: who.client, token: refreshToken })),
                round % 2 === 0
                  ? here.revoke(who.client, accessToken)
                  : here.revokeByUser(who.application.id, who.athlete.id)
              ], { concurrency: "unbounded" })
              const all = [accessToken, ...Either.isRight(refreshed) ? [refreshed.right.accessToken] : []]
              for (const token of all) {
                expect(Exit.isFailure(yield* Effect.exit(there.authenticate(token)))).toBe(true)
              }
              if (Either.isRight(refreshed)) {
                const again = yield* Effect.either(
                  here.refresh({ client: who.client, token: refreshed.right.refreshToken })
                )
                expect(Either.isLeft(again)).toBe(true)
              }
            }
          })
        )
    )

    it.live("two parallel subscriptions of one application: exactly one is stored", () =>
      onTwoNodes((one, two) =>
        Effect.gen(function*() {
          const { application } = yield* Effect.provide(registered, one)
          for (let round = 0; round < 20; round++) {
            const answers = yield* Effect.forEach(
              [one, two],
              (node) => Effect.either(Effect.provide(subscribe(application), node)),
              { concurrency: "unbounded" }
            )
            const stored = answers.filter(Either.isRight)
            expect(stored.length).toBe(1)
            yield* Effect.provide(
              Effect.flatMap(Subscription.SubscriptionStore, (store) =>
                Effect.forEach(stored, ({ right }) => store.remove(right.id, DateTime.unsafeMake(1)))),
              two
            )
          }
        })
      ))

    it.live("a removed subscription has no pending delivery, for any concurrent save", () =>
      onTwoNodes((one, two) =>
        Effect.gen(function*() {
          const { admin } = yield* TestDatabase.TestDatabase
          const who = yield* Effect.provide(registered, one)
          yield* Effect.provide(tokens(who), one)
          const registrations = Context.get(one, Registrations.Registrations)
          const registration = yield* registrations.create(registrationOf(who))
          let cancelled = 0
          for (let round = 0; round < 40; round++) {
            const subscription = yield* Effect.provide(subscribe(who.application), one)
            // The removal begins after none to three of the four changes.
            const changed = yield* Effect.makeSemaphore(4)
            yield* changed.take(4)
            yield* Effect.all([
              ...Array.from({ length: 4 }, (_, index) =>
                Effect.zipRight(
                  registrations.change(registration.id, { comment: `${round}.${index}` }),
                  changed.release(1)
                )),
              Effect.zipRight(
                changed.take(round % 4),
                Context.get(two, Subscription.SubscriptionStore).remove(subscription.id, DateTime.unsafeMake(1))
              )
            ], { concurrency: "unbounded" })
            const { rows } = yield* Effect.promise(() =>
              admin.query("SELECT state, count(*)::integer AS count FROM startlist_deliveries GROUP BY state")
            )
            expect(rows.filter(({ state }) => state !== "c")).toEqual([])
            cancelled = rows[0]?.count ?? 0
          }
          expect(cancelled).toBeGreaterThan(0)
        })
      ))

    it.live(
      "events of one object are claimed in order and completely, for any interleaving of saves and settling",
      () =>
        onTwoNodes((one, two) =>
          Effect.gen(function*() {
            const who = yield* Effect.provide(registered, one)
            yield* Effect.provide(tokens(who), one)
            yield* Effect.provide(subscribe(who.application), one)
            const registrations = Context.get(one, Registrations.Registrations)
            const registration = yield* registrations.create(registrationOf(who))
            const delivered: Array<string> = []
            const changes = 300
            const change = Effect.forEach(
              Array.from({ length: changes }, (_, index) => index),
              (index) => registrations.change(registration.id, { comment: String(index) })
            )
            const work = (node: typeof one, name: string) =>
              Effect.gen(function*() {
                const store = Context.get(node, DeliveryQueue.DeliveryQueue)
                for (let round = 0; delivered.length < changes; round++) {
                  const now = yield* DateTime.now
                  const claimed = yield* store.claim({
                    now,
                    leaseEnds: DateTime.addDuration(now, "1 minute"),
                    token: `${name}-${round}`,
                    limit: 10,
                    perSubscription: 5,
                    allowances: new Map()
                  })
                  expect(claimed.length).toBeLessThanOrEqual(1)
                  for (const { delivery } of claimed) {
                    delivered.push("comment" in delivery.event.updates ? delivery.event.updates.comment : "")
                  }
                  yield* store.settle(claimed.map(({ delivery, token }) => ({
                    token,
                    delivery: Delivery.Delivery.make({ ...delivery, state: "delivered", endedAt: Option.some(now) })
                  })))
                }
              })
            yield* Effect.all([change, work(one, "one"), work(two, "two")], { concurrency: "unbounded" })
            expect(delivered).toEqual(Array.from({ length: changes }, (_, index) => String(index)))
          })
        )
    )

    it.live("two saves of one grant in one batch are checked separately: one is saved, the other conflicts", () =>
      onTwoNodes((one) =>
        Effect.gen(function*() {
          const who = yield* Effect.provide(registered, one)
          const store = Context.get(one, Grant.GrantStore)
          yield* Effect.provide(tokens(who), one)
          const { grant } = Option.getOrThrow(yield* store.find(who.application.id, who.athlete.id))
          const saves = yield* Effect.all(
            Array.from({ length: 5 }, () => Effect.either(store.save(Grant.revoke(grant)))),
            { concurrency: "unbounded" }
          )
          expect(saves.filter(Either.isRight).length).toBe(1)
          expect(saves.filter(Either.isLeft).map(({ left }) => left._tag)).toEqual(
            Array(4).fill("@startlist/core/Conflict")
          )
        })
      ))
  })
}

const registrationOf = ({ athlete }: Registered): Registration.NewRegistration => ({
  parties: {
    athleteId: athlete.id,
    organizerId: Option.none(),
    clubId: Option.none(),
    platformUserId: Option.none()
  },
  updates: Registration.emptyUpdates
})

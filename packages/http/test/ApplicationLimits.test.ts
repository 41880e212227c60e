/** Limits on uses by one owner of applications. */
import { describe, expect, it } from "@effect/vitest"
import { Deliveries, Subscription } from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import { UserId } from "@startlist/core/User"
import { FailureLimit, Refusal } from "@startlist/http"
import * as ApplicationLimits from "@startlist/http/ApplicationLimits"
import { DateTime, Deferred, Effect, Fiber, Option, TestClock } from "effect"
import * as Browser from "../../pages/test/support/Browser.ts"
import { answered, answers, Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

/** Subscribes a new application of the platform user. */
const subscriber = (world: TestWorld, name: string) =>
  Effect.gen(function*() {
    const { send } = yield* Service
    const client = yield* world.register(name)
    const code = yield* world.codeOf({ client_id: client.client_id }, world.platformBrowser)
    const { access_token } = World.tokensOf(yield* world.exchange(code, client))
    return (callbackUrl = "https://receiver.test/events") =>
      send("POST", "/api/v1/webhook_subscription", {
        headers: { ...World.bearer(access_token), "content-type": "application/json" },
        body: JSON.stringify({ webhook_subscription: { callback_url: callbackUrl, verify_token: "v" } })
      })
  })

const ids = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i + 1)

const refusal = Effect.succeed(answered({ body: "", status: 500 }))

describe("validations of callbacks", () => {
  testing("of one application run one at a time", (world) =>
    Effect.gen(function*() {
      const { switches, validations } = yield* Service
      const started = yield* Deferred.make<void>()
      const [first, other] = [yield* subscriber(world, "First"), yield* subscriber(world, "Other")]
      switches.validate = () => Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
      const slow = yield* Effect.fork(first())
      yield* Deferred.await(started)
      switches.validate = answers

      const second = yield* first()
      expect([second.status, second.headers["retry-after"]]).toEqual([429, "2"])
      expect((yield* other()).status).toBe(201)
      yield* TestClock.adjust("2 seconds")
      expect((yield* Fiber.join(slow)).status).toBe(422)
      expect((yield* first()).status).toBe(201)
      expect(validations).toHaveLength(3)
    }))

  testing(
    "of one owner are limited to ten per minute over all their applications, without delay for others",
    (world) =>
      Effect.gen(function*() {
        const { switches, validations } = yield* Service
        switches.validate = () => refusal
        const [first, other] = [yield* subscriber(world, "First"), yield* subscriber(world, "Other")]
        for (let i = 0; i < 5; i++) {
          expect((yield* first("ftp://not.called")).status).toBe(422)
          expect((yield* first()).status).toBe(422)
          expect((yield* other()).status).toBe(422)
        }
        for (const post of [first, other]) {
          const { headers, status } = yield* post()
          expect([status, headers["retry-after"]]).toEqual([429, "60"])
        }
        expect(validations).toHaveLength(10)
        yield* TestClock.adjust("60 seconds")
        switches.validate = answers
        expect((yield* first()).status).toBe(201)
        for (let i = 0; i < 12; i++) expect((yield* first()).status).toBe(409)
        expect((yield* other()).status).toBe(201)
      })
  )

  it.effect("are limited to 64 at the same time; one more is refused with 503", () =>
    Effect.gen(function*() {
      // Two users of the limit, such as the API and the developer pages.
      const made = [yield* ApplicationLimits.make, yield* ApplicationLimits.make] as const
      const validate = (id: number, answer: Effect.Effect<void>) =>
        made[id % 2 === 0 ? 0 : 1].validate({ id: ApplicationId.make(id), ownerId: UserId.make(id) }, answer)
      const slow = yield* Effect.forEach(ids(64), (id) => Effect.fork(validate(id, Effect.never)))
      yield* Effect.yieldNow()
      expect(yield* Effect.flip(validate(65, Effect.void))).toMatchObject({ _tag: "@startlist/http/Busy" })
      expect(Refusal.describe(new Refusal.Busy())).toMatchObject({ status: 503, headers: { "retry-after": "1" } })
      yield* Effect.forEach(slow.slice(0, 1), Fiber.interrupt)
      yield* validate(65, Effect.void)
    }).pipe(Effect.provide(FailureLimit.layerMemory)))
})

describe("on the developer pages, one owner", () => {
  const home = "/developer/applications"

  const post = (world: TestWorld, path: string, fields: Browser.Fields) =>
    Effect.gen(function*() {
      const { csrf = "" } = Browser.formTo("/logout", yield* world.platformBrowser.get(home)).hidden
      return yield* world.platformBrowser.post(path, { ...fields, csrf })
    })

  testing(
    "creates at most 30 applications per hour; refused ones do not count",
    (world) =>
      Effect.gen(function*() {
        const create = (name: string) =>
          Effect.gen(function*() {
            const page = yield* world.platformBrowser.get(home)
            const { key = "" } = Browser.formTo(home, page).hidden
            return yield* post(world, home, { name, redirect_uris: "", key })
          })
        for (let i = 0; i < 40; i++) expect((yield* create("")).status).toBe(422)
        for (let i = 0; i < 30; i++) expect((yield* create(`Application ${i}`)).status).toBe(201)
        const { headers, status } = yield* create("One more")
        expect([status, Number(headers["retry-after"])]).toEqual([429, 3600])
        yield* TestClock.adjust("1 hour")
        expect((yield* create("One more")).status).toBe(201)
      })
  )

  testing(
    "cannot start a validation while one of the same application runs, by the API or by a page",
    (world) =>
      Effect.gen(function*() {
        const { send, switches, validations } = yield* Service
        const { access_token } = yield* world.tokens({}, world.platformBrowser)
        const started = yield* Deferred.make<void>()
        switches.validate = () => Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)
        const webhook = { callback_url: "https://receiver.test/events", verify_token: "v" }
        const byPage = (client: Browser.Fields) =>
          post(world, `${home}/${client["client_id"]}/subscription`, { ...webhook, action: "create" })
        const slow = yield* Effect.fork(byPage(world.client))
        yield* Deferred.await(started)
        switches.validate = answers
        // The page may show the same form that was sent twice, so it waits for the first answer.
        const again = yield* Effect.fork(byPage(world.client))
        const byApi = yield* send("POST", "/api/v1/webhook_subscription", {
          headers: { ...World.bearer(access_token), "content-type": "application/json" },
          body: JSON.stringify({ webhook_subscription: webhook })
        })
        expect((yield* byPage(yield* world.register("Other"))).status).toBe(303)
        expect(validations).toHaveLength(2)
        yield* TestClock.adjust("2 seconds")
        expect((yield* Fiber.join(slow)).status).toBe(422)
        for (const { headers, status } of [yield* Fiber.join(again), byApi]) {
          expect([status, headers["retry-after"]]).toEqual([429, "2"])
        }
        expect(validations).toHaveLength(2)
        expect((yield* byPage(world.client)).status).toBe(303)
      })
  )

  testing("sends at most 60 test events and redeliveries per minute", (world) =>
    Effect.gen(function*() {
      const deliveries = yield* Deliveries.Deliveries
      const store = yield* Subscription.SubscriptionStore
      const applicationId = ApplicationId.make(Number(world.client.client_id))
      const now = yield* DateTime.now
      yield* store.insert({
        applicationId,
        callbackUrl: "https://app.test/hook",
        createdAt: now,
        updatedAt: now
      })
      const { id } = yield* deliveries.sendTest(applicationId)
      const test = post(world, `${home}/${applicationId}/test-event`, {})
      const redeliver = post(world, `${home}/${applicationId}/deliveries/${id}/redeliver`, {})
      for (let i = 0; i < 30; i++) {
        expect((yield* test).status).toBe(303)
        expect((yield* redeliver).status).toBe(303)
      }
      for (const again of [test, redeliver]) {
        const { headers, status } = yield* again
        expect([status, headers["retry-after"]]).toEqual([429, "60"])
      }
      const filter = { applicationId: Option.some(applicationId), state: Option.none(), after: Option.none() }
      expect(yield* deliveries.list({ ...filter, limit: 100 })).toHaveLength(61)
      yield* TestClock.adjust("1 minute")
      expect((yield* redeliver).status).toBe(303)
    }))
})

import { describe, expect } from "@effect/vitest"
import { Deliveries } from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import type { Http } from "@startlist/http"
import { body } from "@startlist/core/Event"
import { Effect, Schema } from "effect"
import { Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"
import * as World from "../../pages/test/support/World.ts"

const path = "/api/v1/webhook_subscription"
const wanted = { webhook_subscription: { callback_url: "https://receiver.test/events", verify_token: "v" } }

const Id = Schema.Struct({ id: Schema.Int })
const LogEntry = Schema.Struct({
  cursor: Schema.String,
  sequence: Schema.Int,
  webhook_id: Schema.String,
  state: Schema.String,
  event: Schema.Unknown
})
const Page = Schema.Struct({ events: Schema.Array(LogEntry), next: Schema.String })
const pageOf = (response: Http.Response) => Schema.decodeUnknownSync(Page)(World.json(response))

/** The refused field, with the status. */
const refusal = (response: Http.Response) => [
  response.status,
  Schema.decodeUnknownSync(Schema.Struct({ errors: Schema.Array(Schema.Struct({ field: Schema.String })) }))(
    World.json(response)
  ).errors[0]?.field
]

/** A subscribed application of a platform user, and its requests. */
const subscribed = (world: TestWorld) =>
  Effect.gen(function*() {
    const { send } = yield* Service
    const { access_token } = yield* world.tokens({}, world.platformBrowser)
    const headers = { ...World.bearer(access_token), "content-type": "application/json" }
    const created = yield* send("POST", path, { headers, body: JSON.stringify(wanted) })
    const { id } = yield* Schema.decodeUnknown(Id)(World.json(created))
    const { sendTest } = yield* Deliveries.Deliveries
    return {
      id,
      page: (query = "") => send("GET", `${path}/events${query}`, { headers }),
      happen: sendTest(ApplicationId.make(Number(world.client.client_id)))
    }
  })

describe("GET /api/v1/webhook_subscription/events", () => {
  testing("has each event once, as it is posted, and a cursor to continue", (world) =>
    Effect.gen(function*() {
      const { happen, id, page } = yield* subscribed(world)
      const empty = pageOf(yield* page())
      expect(empty).toEqual({ events: [], next: expect.any(String) })
      const sent = [yield* happen, yield* happen, yield* happen]
      const first = pageOf(yield* page(`?after=${empty.next}&limit=2`))
      expect(first).toEqual({
        events: sent.slice(0, 2).map(({ event }) => ({
          cursor: expect.any(String),
          sequence: event.sequence,
          webhook_id: event.id,
          state: "pending",
          event: JSON.parse(body(event, id))
        })),
        next: first.events[1]?.cursor
      })
      const second = pageOf(yield* page(`?after=${first.next}&limit=2`))
      expect(second.events.map(({ webhook_id }) => webhook_id)).toEqual([sent[2]?.event.id])
      expect(pageOf(yield* page(`?after=${second.next}`))).toEqual({ events: [], next: second.next })
      yield* happen
      expect(pageOf(yield* page(`?after=${second.next}`)).events).toHaveLength(1)
    }))

  testing(
    "a cursor does not show how many events other applications have, and only its application can use it",
    (world) =>
      Effect.gen(function*() {
        const { send } = yield* Service
        const { happen, page } = yield* subscribed(world)
        for (let i = 0; i < 20; i++) yield* happen
        const cursors = pageOf(yield* page()).events.map(({ cursor }) => cursor)
        expect(pageOf(yield* page()).events.map(({ cursor }) => cursor), "the same each time").toEqual(cursors)
        for (const cursor of cursors) expect(cursor).toMatch(/^[\w-]{33}$/)
        // Successive positions differ in every part of the text, so no part shows their distance.
        for (const place of [0, 10, 22, 28]) {
          expect(new Set(cursors.map((cursor) => cursor.slice(place, place + 5))).size).toBeGreaterThan(15)
        }
        const other = yield* world.register("Other")
        const code = yield* world.codeOf({ client_id: other.client_id }, world.platformBrowser)
        const { access_token } = World.tokensOf(yield* world.exchange(code, other))
        const foreign = yield* send("GET", `${path}/events?after=${cursors[0]}`, {
          headers: World.bearer(access_token)
        })
        expect(refusal(foreign)).toEqual([422, "after"])
      })
  )

  testing(
    "refuses an invalid cursor, a number, a changed cursor, and a limit out of range",
    (world) =>
      Effect.gen(function*() {
        const { page } = yield* subscribed(world)
        const { next } = pageOf(yield* page())
        const changed = (next.startsWith("A") ? "B" : "A") + next.slice(1)
        for (const after of ["x", "0", "1", "-1", "999", "A".repeat(33), changed, `${next}A`, next.slice(1)]) {
          const refused = yield* page(`?after=${after}`)
          expect([after, ...refusal(refused)]).toEqual([after, 422, "after"])
        }
        for (const limit of ["0", "1001", "many"]) {
          const refused = yield* page(`?limit=${limit}`)
          expect([limit, ...refusal(refused)]).toEqual([limit, 422, "limit"])
        }
      })
  )

  testing("accepts only platform users, and only GET", (world) =>
    Effect.gen(function*() {
      const { send } = yield* Service
      const { access_token } = yield* world.tokens()
      const headers = World.bearer(access_token)
      const refused = yield* send("GET", `${path}/events`, { headers })
      expect(refusal(refused)).toEqual([403, "role"])
      expect((yield* send("GET", `${path}/events`)).status).toBe(401)
      expect((yield* send("POST", `${path}/events`, { headers })).status).toBe(405)
    }))
})

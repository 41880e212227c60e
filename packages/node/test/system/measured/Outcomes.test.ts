/** Outcomes of deliveries, as the operator sees them, through the whole service with real receivers. */
import { expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { createApplication, createUser, operate, type Target } from "@startlist/test-support/Operator"
import { grouped, makeInstallation } from "../delivery/support/Installation.ts"
import { answer, type Behaviour, hang, makeReceiver } from "@startlist/test-support/Receiver"

const raw = (act: (socket: NonNullable<Parameters<Behaviour>[1]["socket"]>) => void): Behaviour => (_, { socket }) => {
  if (socket !== null) act(socket)
}

const writing = (every: number, head: string, part: string): Behaviour =>
  raw((socket) => {
    const timer = setInterval(() => socket.write(part), every)
    socket.on("error", () => {}).once("close", () => clearInterval(timer)).write(head)
  })

interface Recorded {
  readonly state: string
  readonly outcome: string
  readonly status?: number
}

const rejected = (status: number): Recorded => ({ state: "exhausted", outcome: "rejected", status })
const delivered: Recorded = { state: "delivered", outcome: "delivered", status: 200 }
const timeout: Recorded = { state: "exhausted", outcome: "timeout" }
const unreachable: Recorded = { state: "exhausted", outcome: "unreachable" }

const receivers: Readonly<Record<string, readonly [behaviour: Behaviour, recorded: Recorded]>> = {
  "answers 200": [answer(200), delivered],
  "answers 200 with an endless body": [writing(1, "HTTP/1.1 200 OK\r\n\r\n", "x".repeat(1024)), delivered],
  "answers 200 and announces 10 GB": [
    raw((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")),
    delivered
  ],
  "answers 201": [answer(201), rejected(201)],
  "answers 204": [answer(204), rejected(204)],
  "redirects to a metadata address": [
    answer(302, { location: "http://169.254.169.254/latest/meta-data/" }),
    rejected(302)
  ],
  "redirects with 307": [answer(307, { location: "/good" }), rejected(307)],
  "answers 429": [answer(429, { "retry-after": "1" }), rejected(429)],
  "answers 500": [answer(500), rejected(500)],
  "never answers": [hang, timeout],
  "drips its headers": [writing(100, "HTTP/1.1 200 OK\r\nX-Long: ", "x"), timeout],
  "closes the connection": [raw((socket) => socket.end()), unreachable],
  "resets the connection": [raw((socket) => socket.resetAndDestroy()), unreachable],
  "speaks no HTTP": [raw((socket) => socket.end("220 smtp.example.test ESMTP\r\n")), unreachable]
}

interface Shown {
  readonly id: number
  readonly webhook_id: string
  readonly client_id: number
  readonly state: string
  readonly attempts: ReadonlyArray<
    { readonly at: string; readonly outcome: string; readonly status?: number; readonly duration_ms: number }
  >
}

/** Waits until the deliveries of an application, newest first, satisfy a condition. */
const shown = (service: Target, clientId: number, condition: (deliveries: ReadonlyArray<Shown>) => boolean) =>
  Effect.promise(async (): Promise<ReadonlyArray<Shown>> =>
    (await operate(service, "GET", `/deliveries?client_id=${clientId}`)).body.deliveries
  ).pipe(
    Effect.filterOrFail(condition, (found) => JSON.stringify(found)),
    Effect.retry(Schedule.intersect(Schedule.spaced("100 millis"), Schedule.recurUpTo("40 seconds"))),
    Effect.orDieWith((last) => new Error(last))
  )

const isOver = ([newest]: ReadonlyArray<Shown>) => newest !== undefined && newest.state !== "pending"

const pauseAfter = ({ attempts }: Shown, index: number): number => {
  const [before, after] = [attempts[index], attempts[index + 1]]
  return Date.parse(after?.at ?? "") - Date.parse(before?.at ?? "") - (before?.duration_ms ?? 0)
}

it.scopedLive(
  "the outcome of every kind of receiver is recorded, and good ones get their events at the first attempt",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const installation = yield* makeInstallation()
      const athlete = yield* installation.newAthlete
      const subscribers = yield* Effect.forEach(
        Object.entries(receivers),
        ([name, [behaviour, expected]], i) =>
          Effect.map(
            installation.subscribe(receiver, `/${i}`, [athlete], behaviour),
            (made) => ({ ...made, name, expected })
          )
      )
      const forbidden = yield* installation.subscribe(receiver, "/forbidden", [athlete], hang)
      yield* Effect.promise(() =>
        installation.admin.query("UPDATE startlist_subscriptions SET callback_url = $1 WHERE id = $2", [
          "https://10.0.0.1/",
          forbidden.subscription.id
        ])
      )
      const service = yield* installation.node({ ROLES: "api,worker" })
      const registration = yield* installation.register(athlete)
      yield* installation.change(registration, "validated")

      const all = [
        ...subscribers,
        {
          ...forbidden,
          name: "is in a private network",
          expected: { state: "exhausted", outcome: "forbidden_address" }
        }
      ]
      for (const { application, expected, name, path } of all) {
        const [delivery, ...more] = yield* shown(service, application.id, isOver)
        const { outcome, state, ...status } = expected
        const attempts = Array.from({ length: state === "delivered" ? 1 : 3 }, () => ({ outcome, ...status }))
        expect({ name, state: delivery?.state, attempts: delivery?.attempts, more }).toMatchObject({
          name,
          state,
          attempts,
          more: []
        })
        const receipts = receiver.events(path)
        expect(receipts).toHaveLength(path === "/forbidden" ? 0 : attempts.length)
        expect([...grouped(receipts, ({ body, id }) => id + body).keys()].length).toBeLessThanOrEqual(1)
        expect(receipts.every(({ isSigned }) => isSigned)).toBe(true)
      }

      const impatient = subscribers.find(({ name }) => name === "answers 429")
      const [refused] = yield* shown(service, impatient?.application.id ?? 0, isOver)
      // Retry-After is one second, limited to one to two times the pauses of 200 ms and 400 ms.
      if (refused !== undefined) {
        expect(pauseAfter(refused, 0)).toBeGreaterThanOrEqual(400)
        expect(pauseAfter(refused, 1)).toBeGreaterThanOrEqual(800)
      }

      const failing = subscribers.find(({ name }) => name === "answers 500")
      const clientId = failing?.application.id ?? 0
      receiver.behave(failing?.path ?? "", answer(200))
      const [exhausted] = yield* shown(service, clientId, isOver)
      const answered = yield* Effect.promise(() => operate(service, "POST", `/deliveries/${exhausted?.id}/redeliver`))
      expect(answered.status).toBe(202)
      expect(answered.body.webhook_id).toBe(exhausted?.webhook_id)
      const [again, before] = yield* shown(service, clientId, isOver)
      expect(before).toEqual({ ...exhausted, redelivery: { id: answered.body.id, state: "delivered" } })
      expect(again).toMatchObject({ id: answered.body.id, state: "delivered", webhook_id: exhausted?.webhook_id })
      expect(new Set(receiver.events(failing?.path ?? "").map(({ body, id }) => id + body)).size).toBe(1)

      expect(service.stderr()).toBe("")
      expect(service.stdout()).not.toMatch(/"logLevel":"(?:WARN|ERROR|FATAL)"/)
      expect(yield* Effect.promise(() => service.stop())).toEqual({ code: 0, signal: null })
    })
)

it.scopedLive(
  "a deleted subscription gets no more events: waiting deliveries and those in flight are cancelled",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const installation = yield* makeInstallation()
      const athlete = yield* installation.newAthlete
      const good = yield* installation.subscribe(receiver, "/good", [athlete])
      const service = yield* installation.node({ ROLES: "api,worker" })
      const { client, token } = yield* Effect.promise(async () => {
        const platform = await createUser(service, "platform")
        const client = await createApplication(service, platform)
        const { access_token: token } = await obtainTokens(service, client, platform)
        const callbackUrl = receiver.urlOf("/leaving")
        receiver.behave("/leaving", hang)
        expect((await subscribe(service, token, callbackUrl)).status).toBe(201)
        return { client, token }
      })
      yield* installation.consent(athlete, client.client_id)

      const registration = yield* installation.register(athlete)
      yield* installation.change(registration, "under way")
      yield* installation.change(registration, "waiting")
      const [held] = yield* Effect.promise(() => receiver.posts(1, "/leaving"))
      const removed = yield* Effect.promise(() =>
        fetch(`${service.url}/api/v1/webhook_subscription`, {
          method: "DELETE",
          headers: { authorization: `Bearer ${token}` }
        })
      )
      expect(removed.status).toBe(204)
      yield* Effect.promise(() =>
        receiver.until(() => held?.answered !== undefined, "the end of the request that was under way")
      )
      yield* installation.change(registration, "later")
      yield* installation.until(good, "all three", (found) =>
        found.length === 3 && found.every(({ state }) =>
          state === "delivered"
        ))

      const cancelled = yield* shown(service, client.client_id, (found) => found.length > 0)
      expect(cancelled.map(({ attempts, state }) => ({ attempts, state }))).toEqual([
        { state: "cancelled", attempts: [] },
        { state: "cancelled", attempts: [] }
      ])
      expect(receiver.events("/leaving")).toHaveLength(1)
    })
)

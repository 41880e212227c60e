import { it } from "@effect/vitest"
import { Applications, Audit, Memory, OAuth, Registration, Registrations, Services, Worker } from "@startlist/core"
import { FailureLimit, HttpConfig, Mount, Protocol, WebHttp } from "@startlist/http"
import {
  ApplicationReceiver,
  Promises,
  TestSecrets,
  TestUsers,
  UnreliableNetwork,
  VirtualTime
} from "@startlist/testing"
import { Clock, Effect, Layer, Option, Redacted, Schema } from "effect"
import { expect } from "vitest"
import * as RacePlanner from "../src/RacePlanner.ts"

const callbackUrl = "https://planner.example/events"
const redirectUri = "https://planner.example/back"

/** The whole service in one process, which delivers events to the handler of the application. */
const service = (callbacks: ReturnType<typeof ApplicationReceiver.layer>) =>
  Services.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Audit.none,
        Memory.layer,
        TestUsers.layer,
        TestSecrets.layer("test"),
        FailureLimit.layerMemory,
        callbacks,
        HttpConfig.layerLocal
      )
    )
  )

interface Chances {
  readonly ofNetwork?: UnreliableNetwork.Chance<UnreliableNetwork.Fault>
  readonly ofReceiver?: ApplicationReceiver.Chance<ApplicationReceiver.Fault>
}

const planner = (state: RacePlanner.State, chance: Chances["ofNetwork"]) =>
  Effect.gen(function*() {
    const users = yield* TestUsers.TestUsers
    const applications = yield* Applications.Applications
    const oauth = yield* OAuth.OAuth
    const user = yield* users.add({ role: "platform", email: "paul@club.example", firstName: "", lastName: "" })
    const athlete = yield* users.add({ role: "athlete", email: "ada@club.example", firstName: "", lastName: "" })
    const settings = { name: "Race Planner", redirectUris: [redirectUri], requirePkce: false }
    const { application, secret, signingSecret } = yield* applications.create(user.id, settings)
    state.signingSecret = Redacted.value(signingSecret)

    const handler = yield* WebHttp.handler(yield* Mount.make([Protocol.routes]))
    const network = yield* UnreliableNetwork.make(handler, chance)
    const credentials = { client_id: String(application.id), client_secret: Redacted.value(secret) }
    const now = yield* nowInSeconds
    const client = RacePlanner.makeClient(state, { fetch: network.fetch, now, client: credentials })

    const query = { client_id: String(application.id), redirect_uri: redirectUri, response_type: "code", scope: "read" }
    const asked = `https://startlist.example/oauth/authorize?${new URLSearchParams(query)}`
    const code = new URL(yield* TestUsers.consent(user, asked)).searchParams.get("code") ?? ""
    const subscribe = Promises.run(() => client.subscribe(callbackUrl))
    const parties: Registration.Parties = {
      athleteId: athlete.id,
      organizerId: Option.none(),
      clubId: Option.none(),
      platformUserId: Option.some(user.id)
    }
    const isGood = (token: string) => Effect.isSuccess(oauth.authenticate(Redacted.make(token)))
    return { client, code, isGood, network, parties, state, subscribe }
  })

/** The application's clock is the virtual one. */
const nowInSeconds = Effect.map(Effect.clock, (clock) => () => Math.floor(clock.unsafeCurrentTimeMillis() / 1000))

/** Runs the application and the service in one process and in virtual time. */
const run = <A, E>(
  use: (context: Effect.Effect.Success<ReturnType<typeof planner>>) => Effect.Effect<
    A,
    E,
    ApplicationReceiver.ApplicationReceiver | Layer.Layer.Success<ReturnType<typeof service>>
  >,
  { ofNetwork, ofReceiver }: Chances = {}
) =>
  Effect.gen(function*() {
    const state = RacePlanner.emptyState()
    const handler = RacePlanner.webhook(state, { now: yield* nowInSeconds })
    const callbacks = ApplicationReceiver.layer(handler, ofReceiver)
    return yield* Effect.provide(Effect.flatMap(planner(state, ofNetwork), use), service(callbacks))
  }).pipe((whole) => VirtualTime.run(whole, { seed: 1 }))

it.effect("a code is exchanged, and refreshed after eight hours, over fetch and in no time", () =>
  run(({ client, code, isGood }) =>
    Effect.gen(function*() {
      yield* Promises.run(() => client.connect(code))
      const first = yield* Promises.run(() => client.accessToken())
      expect(yield* isGood(first)).toBe(true)
      yield* Effect.sleep("8 hours")
      expect(yield* isGood(first)).toBe(false)
      const second = yield* Promises.run(() => client.accessToken())
      expect(yield* isGood(second)).toBe(true)
    })
  ))

it.effect("an answer that is lost or late costs the user no new consent", () =>
  run(({ client, code, isGood, network }) =>
    Effect.gen(function*() {
      const { Fault } = UnreliableNetwork
      yield* network.next([Fault.AnswerLost(), Fault.RequestLost()], "/oauth/token")
      yield* Promises.run(() => client.connect(code))
      yield* Effect.sleep("8 hours")
      yield* network.next([Fault.AnswerLost(), Fault.AnswerDelayed({ by: "30 seconds" })], "/oauth/token")
      const before = yield* Clock.currentTimeMillis
      expect(yield* isGood(yield* Promises.run(() => client.accessToken()))).toBe(true)
      expect((yield* Clock.currentTimeMillis) - before).toBe(30_000)
    })
  ))

it.effect("each event is processed once, whether it arrives twice, late, or after the application was unreachable", () =>
  run(({ client, code, parties, state, subscribe }) =>
    Effect.gen(function*() {
      const { Fault } = ApplicationReceiver
      const receiver = yield* ApplicationReceiver.ApplicationReceiver
      const registrations = yield* Registrations.Registrations
      yield* Effect.fork(Worker.run)
      yield* Promises.run(() => client.connect(code))
      yield* subscribe
      const { id } = yield* registrations.create({ parties, updates: Registration.emptyUpdates })
      yield* receiver.next([Fault.Twice({}), Fault.Late({ by: "20 seconds" }), undefined, Fault.AnswerLost()])
      for (const registration_status of ["pending", "accepted", "validated"]) {
        yield* registrations.change(id, { registration_status })
        yield* Effect.sleep("1 minute")
        expect(state.statuses.get(id)?.status).toBe(registration_status)
      }
      yield* receiver.unreachableFor("30 seconds")
      yield* registrations.change(id, { registration_status: "paid" })
      yield* Effect.sleep("3 minutes")
      expect(state.statuses.get(id)?.status).toBe("paid")
      expect(state.processed.size).toBe(4)
      // Each of the first three arrived twice.
      expect(yield* receiver.received).toHaveLength(7)
    })
  ))

it.effect.prop(
  "whatever the network and the receiver do, the last status arrives and the tokens stay good",
  { seed: Schema.NonNegativeInt },
  ({ seed }) =>
    run(
      ({ client, code, isGood, network, parties, state, subscribe }) =>
        Effect.gen(function*() {
          const receiver = yield* ApplicationReceiver.ApplicationReceiver
          const registrations = yield* Registrations.Registrations
          yield* Promises.run(() => client.connect(code))
          yield* Effect.sleep("8 hours")
          expect(yield* isGood(yield* Promises.run(() => client.accessToken()))).toBe(true)
          yield* network.none
          yield* subscribe
          yield* Effect.fork(Worker.run)
          const { id } = yield* registrations.create({ parties, updates: Registration.emptyUpdates })
          for (const registration_status of ["pending", "accepted", "validated"]) {
            yield* registrations.change(id, { registration_status })
            yield* Effect.sleep("10 seconds")
          }
          yield* receiver.none
          yield* registrations.change(id, { registration_status: "paid" })
          yield* Effect.sleep("10 minutes")
          expect(state.statuses.get(id)?.status).toBe("paid")
        }),
      {
        ofNetwork: { seed, probability: 0.4, faults: kindFaults },
        ofReceiver: { seed, probability: 0.5, faults: ApplicationReceiver.anyFault }
      }
    ),
  { fastCheck: { numRuns: 15 } }
)

/** No losses: more than three in a row are possible, and the application tries three times. */
const kindFaults = UnreliableNetwork.anyFault.filter(({ _tag }) => _tag !== "RequestLost" && _tag !== "AnswerLost")

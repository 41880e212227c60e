/** A whole application in virtual time, to copy: docs/stores.md leads here. */
import { it } from "@effect/vitest"
import { type Client, createClient, type Inbox, memoryEvents, memoryTokens, type Tokens } from "@startlist/client"
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
import { Effect, Layer, Option, Redacted } from "effect"
import { expect } from "vitest"

/** The application under test. It gets its `fetch` and its clock from outside. */
class Club {
  readonly tokens: Tokens
  readonly inbox: Inbox
  readonly statuses = new Map<number, string>()

  constructor(client: Client, signingSecret: string) {
    this.tokens = client.tokens(memoryTokens())
    this.inbox = client.inbox({
      store: memoryEvents(),
      verifyToken: "club",
      signingSecrets: () => [signingSecret],
      handle: (event) => {
        if (event.type === "registration.changed" && !event.isLate) {
          this.statuses.set(event.registrationId, event.updates.registration_status)
        }
      }
    })
  }
}

it.effect("the club is connected for weeks, and gets each status, over a network that loses answers", () => {
  let club: Club | undefined
  const receiver = ApplicationReceiver.layer((request) => club?.inbox.fetch(request) ?? Promise.reject(request))
  const service = Layer.mergeAll(Worker.layer, FailureLimit.layerMemory, HttpConfig.layerLocal).pipe(
    Layer.provideMerge(Services.layer),
    Layer.provideMerge(Layer.mergeAll(Audit.none, Memory.layer, TestSecrets.layer("club"), TestUsers.layer, receiver))
  )
  return Effect.gen(function*() {
    const { add } = yield* TestUsers.TestUsers
    const owner = yield* add({ role: "platform", email: "paul@club.example", firstName: "Paul", lastName: "B." })
    const athlete = yield* add({ role: "athlete", email: "ada@club.example", firstName: "Ada", lastName: "L." })
    const applications = yield* Applications.Applications
    const redirectUri = "https://club.example/back"
    const settings = { name: "Club", redirectUris: [redirectUri], requirePkce: true }
    const { application, secret, signingSecret } = yield* applications.create(owner.id, settings)
    const network = yield* UnreliableNetwork.make(yield* WebHttp.handler(yield* Mount.make([Protocol.routes])))
    const clock = yield* Effect.clock
    const client = createClient({
      url: "https://startlist.example",
      clientId: application.id,
      clientSecret: Redacted.value(secret),
      redirectUri,
      fetch: network.fetch,
      now: () => clock.unsafeCurrentTimeMillis()
    })
    const { inbox, statuses, tokens } = club = new Club(client, Redacted.value(signingSecret))

    // Paul connects his account: authorization with PKCE, consent, exchange.
    const { keep, url } = yield* Promises.run(() => client.authorize({ scope: "profile:read read" }))
    const back = yield* TestUsers.consent(owner, url)
    yield* Promises.run(async () => tokens.connect("paul", await client.finish(back, keep)))
    const first = yield* Promises.run(() => tokens.accessFor("paul"))
    yield* Promises.run(() => client.subscribe(first, "https://club.example/events", "club"))

    // Three weeks later, the answer to the refresh is lost. The next attempt gets the same answer.
    yield* Effect.sleep("21 days")
    yield* network.next([UnreliableNetwork.Fault.AnswerLost()], "/oauth/token")
    const second = yield* Promises.run(() => tokens.accessFor("paul").catch(() => tokens.accessFor("paul")))
    expect(second).not.toBe(first)
    const oauth = yield* OAuth.OAuth
    expect((yield* oauth.authenticate(Redacted.make(second))).userId).toBe(owner.id)

    // The application cannot be reached for a while. The service repeats the event.
    const { unreachableFor } = yield* ApplicationReceiver.ApplicationReceiver
    const registrations = yield* Registrations.Registrations
    const parties = { athleteId: athlete.id, organizerId: Option.none(), clubId: Option.none() }
    const { id } = yield* registrations.create({
      parties: { ...parties, platformUserId: Option.some(owner.id) },
      updates: Registration.emptyUpdates
    })
    yield* unreachableFor("30 seconds")
    yield* registrations.change(id, { registration_status: "validated" })
    yield* Effect.sleep("2 minutes")
    yield* Promises.run(() => inbox.process())
    expect(statuses.get(id)).toBe("validated")
  }).pipe(Effect.provide(service), (whole) => VirtualTime.run(whole, { seed: 1 }))
})

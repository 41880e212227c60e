import { describe, expect, it } from "@effect/vitest"
import {
  Application,
  Applications,
  ApplicationSecret,
  Callbacks,
  Deliveries,
  type Grant,
  OAuth,
  Registration,
  Registrations,
  Store,
  Subscription,
  Subscriptions,
  User
} from "@startlist/core"
import { ScriptedCallbacks } from "@startlist/testing"
import { DateTime, Effect, Either, FastCheck, Fiber, Option, Redacted, TestClock } from "effect"
import { callbackUrl, type Client, layer, layerWith, makeClient, makeUser, tokensOf } from "./support/fixture.ts"

const { Answer } = Callbacks
const { Behaviour } = ScriptedCallbacks

const answered = (body: string, changes: { readonly status?: number; readonly contentType?: string } = {}) =>
  Answer.Answered({
    afterMs: 10,
    status: 200,
    contentType: "application/json",
    body,
    retryAfter: Option.none(),
    ...changes
  })

const verdict = (answer: Callbacks.Answer) =>
  Either.match(Subscription.validate(answer, "challenge"), { onLeft: ({ reason }) => reason, onRight: () => "valid" })

const good = JSON.stringify({ "hub.challenge": "challenge" })

describe("a validation answer", () => {
  it("is valid with 200, application/json and exactly the key hub.challenge with the challenge", () => {
    expect(verdict(answered(good))).toBe("valid")
    expect(verdict(answered(" \n{ \"hub.challenge\" : \"challenge\" }\n"))).toBe("valid")
    expect(verdict(answered(`\uFEFF${good}`))).toBe("valid")
    for (const contentType of ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"]) {
      expect(verdict(answered(good, { contentType })), contentType).toBe("valid")
    }
  })

  it("needs the status 200", () => {
    for (const status of [201, 202, 204, 301, 302, 400, 404, 500, 100]) {
      expect(verdict(answered(good, { status })), String(status)).toBe("wrong_status")
    }
  })

  it("needs the content type application/json", () => {
    for (
      const contentType of [
        "",
        "text/plain",
        "text/html",
        "application/jsonp",
        "application/json+x",
        "application/hal+json",
        "text/plain, application/json"
      ]
    ) {
      expect(verdict(answered(good, { contentType })), contentType).toBe("wrong_content_type")
    }
  })

  it("needs one JSON object with that key alone", () => {
    for (
      const body of [
        "",
        "challenge",
        "\"challenge\"",
        "{}",
        "[]",
        "null",
        "{\"hub.challenge\":\"other\"}",
        "{\"hub.challenge\":\"challenge \"}",
        "{\"hub.challenge\":\"CHALLENGE\"}",
        "{\"hub.challenge\":[\"challenge\"]}",
        "{\"hub\":{\"challenge\":\"challenge\"}}",
        "{\"hub.challenge\":\"challenge\",\"more\":1}",
        "{\"hub.challenge\":\"challenge\",\"__proto__\":{}}",
        "[{\"hub.challenge\":\"challenge\"}]",
        `${good}${good}`,
        `\uFEFF\uFEFF${good}`,
        ` \uFEFF${good}`,
        `${good}\uFEFF`
      ]
    ) {
      expect(verdict(answered(body)), body).toBe("wrong_body")
    }
  })

  it("may not be late, missing or forbidden", () => {
    expect(verdict(Answer.TimedOut({ detail: "" }))).toBe("timeout")
    expect(verdict(Answer.Unreachable({ detail: "" }))).toBe("unreachable")
    expect(verdict(Answer.Forbidden({ detail: "" }))).toBe("forbidden_address")
  })

  it.prop("is never valid with another challenge", [FastCheck.string()], ([other]) => {
    const body = JSON.stringify({ "hub.challenge": other })
    expect(verdict(answered(body))).toBe(other === "challenge" ? "valid" : "wrong_body")
  })
})

const accessOf = (client: Client, user = client.owner) =>
  Effect.gen(function*() {
    const oauth = yield* OAuth.OAuth
    return yield* oauth.authenticate((yield* tokensOf(client, user)).accessToken)
  })

const wanted = (url = callbackUrl) => ({ callbackUrl: url, verifyToken: Redacted.make("verify me") })

const create = (access: Grant.BearerAccess, url = callbackUrl) =>
  Effect.flatMap(Subscriptions.Subscriptions, (subscriptions) => subscriptions.create(access, wanted(url)))

const requests = Effect.flatMap(ScriptedCallbacks.ScriptedCallbacks, ({ received }) => received)

const failure = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    if (typeof error !== "object" || error === null) return error
    return "reason" in error ? error.reason : "_tag" in error ? error._tag : error
  })

describe("a subscription", () => {
  it.effect("is made once its callback has answered the challenge", () =>
    Effect.gen(function*() {
      const client = yield* makeClient()
      const access = yield* accessOf(client)
      const { applicationId, callbackUrl: url, createdAt, updatedAt } = yield* create(access)
      expect({ applicationId, url }).toStrictEqual({ applicationId: client.id, url: callbackUrl })
      expect(createdAt).toStrictEqual(updatedAt)
      expect(yield* requests).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("is not made when the callback fails the challenge, hangs, refuses or answers late", () =>
    Effect.gen(function*() {
      const { always } = yield* ScriptedCallbacks.ScriptedCallbacks
      const { find } = yield* Subscriptions.Subscriptions
      const access = yield* accessOf(yield* makeClient())
      const cases = [
        [Behaviour.Say({ body: "{\"hub.challenge\":\"guess\"}" }), "wrong_body"],
        [Behaviour.Say({ body: "{}", contentType: "text/html" }), "wrong_content_type"],
        [Behaviour.Reject({ status: 404 }), "wrong_status"],
        [Behaviour.Refuse(), "unreachable"],
        [Behaviour.Hang(), "timeout"],
        [Behaviour.Comply({ afterMs: 2001 }), "timeout"]
      ] as const
      for (const [behaviour, reason] of cases) {
        yield* always(callbackUrl, behaviour)
        const creating = yield* Effect.fork(failure(create(access)))
        yield* TestClock.adjust("2 seconds")
        expect(yield* Fiber.join(creating)).toBe(reason)
        expect(yield* failure(find(access))).toBe("@startlist/core/SubscriptionNotFound")
      }
      yield* always(callbackUrl, Behaviour.Comply({ afterMs: 1999 }))
      const creating = yield* Effect.fork(create(access))
      yield* TestClock.adjust("1999 millis")
      expect((yield* Fiber.join(creating)).callbackUrl).toBe(callbackUrl)
    }).pipe(Effect.provide(layer)))

  it.effect("is not made for an application that ends while its callback is asked", () =>
    Effect.gen(function*() {
      const { always } = yield* ScriptedCallbacks.ScriptedCallbacks
      const { end } = yield* Applications.Applications
      const { findByApplication } = yield* Subscriptions.Subscriptions
      const client = yield* makeClient()
      const access = yield* accessOf(client)
      yield* always(callbackUrl, Behaviour.Comply({ afterMs: 1000 }))
      const creating = yield* Effect.fork(failure(create(access)))
      yield* TestClock.adjust("500 millis")
      yield* end(client.id)
      yield* TestClock.adjust("500 millis")
      expect(yield* Fiber.join(creating)).toBe("@startlist/core/ApplicationNotFound")
      expect(yield* findByApplication(client.id)).toStrictEqual(Option.none())
    }).pipe(Effect.provide(layer)))

  it.effect("is refused a second time before any request to the callback", () =>
    Effect.gen(function*() {
      const access = yield* accessOf(yield* makeClient())
      yield* create(access)
      expect(yield* failure(create(access, "https://other.example.test/"))).toBe("@startlist/core/AlreadySubscribed")
      expect(yield* requests).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("is made by exactly one of many parallel requests", () =>
    Effect.gen(function*() {
      const access = yield* accessOf(yield* makeClient())
      const results = yield* Effect.all(Array.from({ length: 10 }, () => Effect.either(create(access))), {
        concurrency: "unbounded"
      })
      const tags = results.map((result) => Either.match(result, { onLeft: ({ _tag }) => _tag, onRight: () => "made" }))
      expect(tags.sort()).toStrictEqual([
        ...Array.from({ length: 9 }, () => "@startlist/core/AlreadySubscribed"),
        "made"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("is managed with the scope that the policy asks for, and nothing is sent or changed without it", () =>
    Effect.gen(function*() {
      const { find, remove } = yield* Subscriptions.Subscriptions
      const access = yield* accessOf(yield* makeClient())
      for (const scope of [[], ["read"], ["webhooks:read"]]) {
        const narrow = { ...access, scope }
        const missing = { _tag: "@startlist/core/InsufficientScope", scope: "webhooks" }
        expect(yield* Effect.flip(create(narrow))).toMatchObject(missing)
        expect(yield* Effect.flip(find(narrow))).toMatchObject(missing)
        expect(yield* Effect.flip(remove(narrow, Option.none()))).toMatchObject(missing)
      }
      expect(yield* requests).toHaveLength(0)
      const wide = { ...access, scope: ["read", "webhooks"] }
      const { id } = yield* create(wide)
      expect((yield* find(wide)).id).toBe(id)
      const athlete = { ...wide, role: "athlete" as const }
      expect(yield* failure(find(athlete))).toBe("@startlist/core/NotPlatformUser")
      yield* remove(wide, Option.none())
    }).pipe(Effect.provide(layerWith({ webhookScope: Option.some("webhooks") }))))

  it.effect("is managed by platform users only", () =>
    Effect.gen(function*() {
      const { find, remove } = yield* Subscriptions.Subscriptions
      const client = yield* makeClient()
      for (const role of ["athlete", "organizer", "club"] as const) {
        const access = yield* accessOf(client, yield* makeUser(role))
        expect(yield* failure(create(access))).toBe("@startlist/core/NotPlatformUser")
        expect(yield* failure(find(access))).toBe("@startlist/core/NotPlatformUser")
        expect(yield* failure(remove(access, Option.none()))).toBe("@startlist/core/NotPlatformUser")
      }
      expect(yield* requests).toHaveLength(0)
    }).pipe(Effect.provide(layer)))

  it.effect("has a callback URL of at most 255 characters that can be called; others are not called", () =>
    Effect.gen(function*() {
      const access = yield* accessOf(yield* makeClient())
      const url = (length: number) => "https://app.example.test/".padEnd(length, "a")
      expect(yield* failure(create(access, url(256)))).toBe("too_long")
      expect(yield* failure(create(access, url(10_000)))).toBe("too_long")
      expect(yield* failure(create(access, "ftp://app.example.test/"))).toBe("invalid")
      expect(yield* failure(create(access, ""))).toBe("invalid")
      expect(yield* requests).toHaveLength(0)
      expect((yield* create(access, url(255))).callbackUrl).toHaveLength(255)
    }).pipe(Effect.provide(layer)))

  it.effect("is removed without an id or with its own; another id is not found", () =>
    Effect.gen(function*() {
      const { find, remove } = yield* Subscriptions.Subscriptions
      const access = yield* accessOf(yield* makeClient())
      expect(yield* failure(remove(access, Option.none()))).toBe("@startlist/core/SubscriptionNotFound")
      const first = yield* create(access)
      expect(yield* failure(remove(access, Option.some(first.id + 1)))).toBe("@startlist/core/SubscriptionNotFound")
      expect((yield* find(access)).id).toBe(first.id)
      yield* remove(access, Option.some(first.id))
      expect(yield* failure(find(access))).toBe("@startlist/core/SubscriptionNotFound")
      const second = yield* create(access)
      expect(second.id).not.toBe(first.id)
      yield* remove(access, Option.none())
      expect(yield* failure(remove(access, Option.none()))).toBe("@startlist/core/SubscriptionNotFound")
    }).pipe(Effect.provide(layer)))

  it.effect("takes its pending deliveries with it: they are cancelled", () =>
    Effect.gen(function*() {
      const { remove } = yield* Subscriptions.Subscriptions
      const { list } = yield* Deliveries.Deliveries
      const client = yield* makeClient()
      const access = yield* accessOf(client)
      yield* create(access)
      const user = yield* makeUser()
      yield* tokensOf(client, user)
      yield* Effect.flatMap(OAuth.OAuth, (oauth) => oauth.revokeByUser(client.id, user.id))
      yield* remove(access, Option.none())
      const all = { applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 10 }
      expect((yield* list(all)).map(({ state }) => state)).toStrictEqual(["cancelled"])
    }).pipe(Effect.provide(layer)))

  it.effect("follows another one with the same signing secrets", () =>
    Effect.gen(function*() {
      const { remove } = yield* Subscriptions.Subscriptions
      const { signingSecrets } = yield* Applications.Applications
      const client = yield* makeClient()
      const access = yield* accessOf(client)
      const before = yield* signingSecrets(client.id)
      yield* create(access)
      yield* remove(access, Option.none())
      yield* create(access)
      expect(yield* signingSecrets(client.id)).toStrictEqual(before)
    }).pipe(Effect.provide(layer)))
})

describe("the signing secrets of an application", () => {
  it.effect("begin with one, and rotate: both sign for 24 hours, then the new one alone", () =>
    Effect.gen(function*() {
      const { rotateSigningSecret, signingSecrets } = yield* Applications.Applications
      const client = yield* makeClient()
      const first = yield* signingSecrets(client.id)
      const [oldest] = first.secrets.map(({ value }) => Redacted.value(value))
      expect(oldest).toMatch(/^whsec_/)
      const rotatedAt = yield* DateTime.now
      const { secrets } = yield* rotateSigningSecret(client.id)
      const live = (hours: number) =>
        ApplicationSecret.live(secrets, DateTime.add(rotatedAt, { seconds: hours * 3600 })).map(({ value }) =>
          Redacted.value(value)
        )
      expect(live(23.999)).toHaveLength(2)
      expect(live(23.999)[1]).toBe(oldest)
      expect(live(24)).toHaveLength(1)
      expect(live(24)[0]).not.toBe(oldest)
    }).pipe(Effect.provide(layer)))

  it.effect("are not found for an unknown application", () =>
    Effect.gen(function*() {
      const { rotateSigningSecret, signingSecrets } = yield* Applications.Applications
      const id = Application.ApplicationId.make(4711)
      expect((yield* Effect.flip(signingSecrets(id)))._tag).toBe("@startlist/core/ApplicationNotFound")
      expect((yield* Effect.flip(rotateSigningSecret(id)))._tag).toBe("@startlist/core/ApplicationNotFound")
    }).pipe(Effect.provide(layer)))
})

describe("a registration", () => {
  const parties = (athleteId: Registration.Parties["athleteId"]): Registration.Parties => ({
    athleteId,
    organizerId: Option.none(),
    clubId: Option.none(),
    platformUserId: Option.none()
  })

  it.effect("has parties who exist and have the right role", () =>
    Effect.gen(function*() {
      const { create } = yield* Registrations.Registrations
      const [athlete, organizer] = [yield* makeUser("athlete"), yield* makeUser("organizer")]
      const [club, platform] = [yield* makeUser("club"), yield* makeUser("platform")]
      const all = {
        athleteId: athlete.id,
        organizerId: Option.some(organizer.id),
        clubId: Option.some(club.id),
        platformUserId: Option.some(platform.id)
      }
      const attempt = (changes: Partial<Registration.Parties>) =>
        create({ parties: { ...all, ...changes }, updates: Registration.emptyUpdates })
      const field = (changes: Partial<Registration.Parties>) =>
        Effect.map(Effect.flip(attempt(changes)), (error) =>
          error._tag === "@startlist/core/InvalidParty" ? error.field : error)
      yield* attempt({})
      const erased = User.UserId.make(Store.maxId)
      expect(yield* field({ athleteId: erased })).toBe("athlete_id")
      expect(yield* field({ clubId: Option.some(erased) })).toBe("club_id")
      expect(yield* field({ athleteId: organizer.id })).toBe("athlete_id")
      expect(yield* field({ organizerId: Option.some(athlete.id) })).toBe("organizer_id")
      expect(yield* field({ clubId: Option.some(platform.id) })).toBe("club_id")
      expect(yield* field({ platformUserId: Option.some(club.id) })).toBe("platform_user_id")
    }).pipe(Effect.provide(layer)))

  it.effect("notifies every subscribed application with an active grant from a party, and no other", () =>
    Effect.gen(function*() {
      const registrations = yield* Registrations.Registrations
      const oauth = yield* OAuth.OAuth
      const { list } = yield* Deliveries.Deliveries
      const athlete = yield* makeUser("athlete")
      const organizer = yield* makeUser("organizer")
      const stranger = yield* makeUser("athlete")
      const clients = yield* Effect.all(Array.from({ length: 5 }, () => makeClient()))
      for (const client of clients) yield* create(yield* accessOf(client))
      const [ofAthlete, ofBoth, ofStranger, revoked] = clients
      if (!ofAthlete || !ofBoth || !ofStranger || !revoked) return yield* Effect.dieMessage("no clients")
      yield* tokensOf(ofAthlete, athlete)
      yield* tokensOf(ofBoth, athlete)
      yield* tokensOf(ofBoth, organizer)
      yield* tokensOf(ofStranger, stranger)
      yield* tokensOf(revoked, organizer)
      yield* oauth.revokeByUser(revoked.id, organizer.id)
      const { id } = yield* registrations.create({
        parties: { ...parties(athlete.id), organizerId: Option.some(organizer.id) },
        updates: Registration.emptyUpdates
      })
      const told = Effect.map(
        list({ applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 100 }),
        (deliveries) =>
          deliveries.filter(({ event }) => event.objectType === "registration").map(({ applicationId }) =>
            applicationId
          )
      )
      expect(yield* told, "creating is no change").toStrictEqual([])
      yield* registrations.change(id, { registration_status: "accepted" })
      expect(new Set(yield* told)).toStrictEqual(new Set([ofAthlete.id, ofBoth.id]))
      expect(yield* told, "once each").toHaveLength(2)
    }).pipe(Effect.provide(layer)))

  it.effect("causes no event if nothing changes", () =>
    Effect.gen(function*() {
      const registrations = yield* Registrations.Registrations
      const { list } = yield* Deliveries.Deliveries
      const client = yield* makeClient()
      yield* create(yield* accessOf(client))
      const athlete = yield* makeUser()
      yield* tokensOf(client, athlete)
      const updates = { ...Registration.emptyUpdates, reasons: ["a", "b"] }
      const { id } = yield* registrations.create({ parties: parties(athlete.id), updates })
      const all = list({ applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 100 })
      for (const patch of [{}, { comment: "" }, { reasons: ["a", "b"] }]) {
        expect((yield* registrations.change(id, patch)).version).toBe(1)
      }
      expect(yield* all).toHaveLength(0)
      yield* registrations.change(id, { reasons: ["b", "a"] })
      expect(yield* all).toHaveLength(1)
    }).pipe(Effect.provide(layer)))

  it.effect("stores every one of parallel changes, and each event has all six fields of its change", () =>
    Effect.gen(function*() {
      const registrations = yield* Registrations.Registrations
      const { list } = yield* Deliveries.Deliveries
      const client = yield* makeClient()
      yield* create(yield* accessOf(client))
      const athlete = yield* makeUser()
      yield* tokensOf(client, athlete)
      const { id } = yield* registrations.create({ parties: parties(athlete.id), updates: Registration.emptyUpdates })
      yield* Effect.all([
        registrations.change(id, { registration_status: "s" }),
        registrations.change(id, { document_status: "d" }),
        registrations.change(id, { comment: "c" })
      ], { concurrency: "unbounded" })
      const { updates } = yield* registrations.find(id)
      expect(updates).toMatchObject({ registration_status: "s", document_status: "d", comment: "c" })
      const page = { applicationId: Option.none(), state: Option.none(), after: Option.none(), limit: 100 }
      const told = (yield* list(page)).map(({ event }) => event.updates)
      expect(told).toHaveLength(3)
      expect(told[0]).toStrictEqual(updates)
    }).pipe(Effect.provide(layer)))
})

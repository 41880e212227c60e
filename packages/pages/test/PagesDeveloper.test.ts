import { describe, expect } from "@effect/vitest"
import {
  Applications,
  Callbacks,
  Deliveries,
  type Delivery,
  DeliveryQueue,
  Event,
  Subscription,
  Subscriptions
} from "@startlist/core"
import { ApplicationId } from "@startlist/core/Application"
import type { Http } from "@startlist/http"
import { DateTime, Effect, Option, Redacted, TestClock } from "effect"
import { createHmac } from "node:crypto"
import * as SentDeliveries from "../src/internal/developer/SentDeliveries.ts"
import * as Browser from "./support/Browser.ts"
import { answers, Service } from "./support/Service.ts"
import { TestAccounts } from "@startlist/test-support/TestAccounts"
import { testing, type TestWorld } from "./support/Testing.ts"
import * as World from "./support/World.ts"

const home = "/developer/applications"

const idOf = (world: TestWorld) => ApplicationId.make(Number(world.client.client_id))

const pathOf = (world: TestWorld) => `${home}/${world.client.client_id}`

/** A subscription of the world's application. */
const subscribe = (world: TestWorld) =>
  Effect.gen(function*() {
    const store = yield* Subscription.SubscriptionStore
    const now = yield* DateTime.now
    return yield* store.insert({
      applicationId: idOf(world),
      callbackUrl: "https://app.test/hook",
      createdAt: now,
      updatedAt: now
    })
  })

const listed = (world: TestWorld) =>
  Effect.flatMap(
    Deliveries.Deliveries,
    ({ list }) =>
      list({ applicationId: Option.some(idOf(world)), state: Option.none(), after: Option.none(), limit: 100 })
  )

/** Ends all due deliveries. Returns their number. */
const endAll = (state: "exhausted" | "delivered") =>
  Effect.gen(function*() {
    const queue = yield* DeliveryQueue.DeliveryQueue
    const now = yield* DateTime.now
    const claimed = yield* queue.claim({
      now,
      leaseEnds: DateTime.addDuration(now, "1 minute"),
      token: `${state} ${now.epochMillis}`,
      limit: 100,
      perSubscription: 100,
      allowances: new Map()
    })
    const settled = claimed.map(({ delivery, token }) => ({
      token,
      delivery: { ...delivery, state, endedAt: Option.some(now) }
    }))
    return (yield* queue.settle(settled)).length
  })

/** Every form of the developer pages, as its owner would send it. */
const everyForm = (world: TestWorld) =>
  Effect.gen(function*() {
    yield* subscribe(world)
    const deliveries = yield* Deliveries.Deliveries
    yield* deliveries.sendTest(idOf(world))
    yield* endAll("exhausted")
    const { id } = yield* deliveries.sendTest(idOf(world))
    const applications = yield* Applications.Applications
    yield* applications.rotateSecret(idOf(world))
    yield* applications.rotateSigningSecret(idOf(world))
    const path = pathOf(world)
    const { platformBrowser } = world
    const { key = "" } = Browser.formTo(`${path}/secret`, yield* platformBrowser.get(`${path}/secrets`)).hidden
    return {
      // The form of the settings has changed the name.
      [`${path}/end`]: { name: "Changed" },
      [home]: { name: "New", redirect_uris: "", key },
      [path]: { name: "Changed", redirect_uris: "https://changed.test/" },
      [`${path}/secret`]: { number: "3", key },
      [`${path}/secret/end`]: { number: "1" },
      [`${path}/signing-secret/end`]: { number: "1" },
      [`${path}/signing-secret`]: { action: "rotate", number: "3" },
      [`${path}/test-event`]: {},
      [`${path}/deliveries/${id}/redeliver`]: {},
      [`${path}/redeliver`]: { failed_since: "1970-01-01T00:00" },
      [`${path}/subscription`]: { action: "pause" }
    }
  })

/** Everything that those forms could change. */
const state = (world: TestWorld) =>
  Effect.gen(function*() {
    const applications = yield* Applications.Applications
    const subscriptions = yield* Subscriptions.Subscriptions
    return {
      applications: yield* applications.list({ owner: Option.none(), after: Option.none(), limit: 100 }),
      subscription: yield* subscriptions.findByApplication(idOf(world)),
      signing: Option.map(yield* Effect.option(applications.signingSecrets(idOf(world))), ({ version }) => version),
      deliveries: (yield* listed(world)).length
    }
  })

describe("forms of the developer pages", () => {
  testing("with the token of the owner's session each does its work", (world) =>
    Effect.gen(function*() {
      const { platformBrowser } = world
      const forms = yield* everyForm(world)
      for (const [action, fields] of Object.entries(forms).reverse()) {
        const before = yield* state(world)
        const { csrf = "" } = Browser.formTo("/logout", yield* platformBrowser.get(home)).hidden
        const response = yield* platformBrowser.post(action, { ...fields, csrf })
        expect([action, [200, 201, 303].includes(response.status)]).toEqual([action, true])
        expect([action, yield* state(world)]).not.toEqual([action, before])
      }
    }))

  testing("of a page that was loaded before the subscription ended are outdated", (world) =>
    Effect.gen(function*() {
      const { platformBrowser } = world
      const forms = yield* everyForm(world)
      const { csrf = "" } = Browser.formTo("/logout", yield* platformBrowser.get(home)).hidden
      yield* (yield* Subscriptions.Subscriptions).end(idOf(world), Option.none())
      const before = yield* state(world)
      for (const [action, fields] of Object.entries(forms)) {
        if (!/\/test-event$|\/deliveries\/\d+\/redeliver$|\/subscription$/.test(action)) continue
        expect([action, (yield* platformBrowser.post(action, { ...fields, csrf })).status]).toEqual([action, 409])
      }
      expect(yield* state(world)).toEqual(before)
    }))

  testing(
    "of settings that were changed in another window do not revert the change",
    (world) =>
      Effect.gen(function*() {
        const { platformBrowser } = world
        const applications = yield* Applications.Applications
        const removed = "https://lapsed.test/callback"
        const kept = "https://kept.test/callback"
        yield* applications.change(idOf(world), { redirectUris: [kept, removed] })
        const form = Effect.map(
          platformBrowser.get(`${pathOf(world)}/settings`),
          (page) => Browser.formTo(pathOf(world), page).hidden
        )
        const stored = Effect.map(applications.find(idOf(world)), ({ name, redirectUris }) => [name, redirectUris])
        const early = yield* form
        const save = (hidden: Readonly<Record<string, string>>, name: string, ...uris: ReadonlyArray<string>) =>
          platformBrowser.post(pathOf(world), { ...hidden, name, redirect_uris: uris.join("\n") })
        // A second click on the same button is no change in another window.
        for (const status of [303, 303]) expect((yield* save(early, "Race Planner", kept)).status).toBe(status)
        expect((yield* save(early, "Race Day", kept, removed)).status).toBe(409)
        expect(yield* stored).toEqual(["Race Planner", [kept]])
        // Nor is one after a problem was shown, but a change in the meantime is.
        const refused = yield* save(yield* form, "Race Day", "nonsense")
        expect(refused.status).toBe(422)
        const again = Browser.formTo(pathOf(world), refused).hidden
        expect((yield* save(again, "Race Day", kept)).status).toBe(303)
        expect((yield* save(again, "Race Night", kept)).status).toBe(409)
        expect(yield* stored).toEqual(["Race Day", [kept]])
      })
  )

  testing(
    "forged ones change nothing: no token, another session's, a foreign origin",
    (world) =>
      Effect.gen(function*() {
        const { browser, platformBrowser } = world
        const forms = yield* everyForm(world)
        const before = yield* state(world)
        const own = Browser.formTo("/logout", yield* platformBrowser.get(home)).hidden["csrf"] ?? ""
        const foreign = Browser.formTo("/logout", yield* browser.get("/account/applications")).hidden["csrf"] ?? ""
        for (const [action, fields] of Object.entries(forms)) {
          const attempts = [
            platformBrowser.post(action, fields),
            platformBrowser.post(action, { ...fields, csrf: foreign }),
            platformBrowser.post(action, { ...fields, csrf: own }, { origin: "https://evil.test" }),
            platformBrowser.post(action, { ...fields, csrf: own }, { "sec-fetch-site": "cross-site" })
          ]
          for (const attempt of attempts) expect([action, (yield* attempt).status]).toEqual([action, 403])
        }
        expect(yield* state(world)).toEqual(before)
      })
  )

  testing(
    "of other people's applications are not there, and nobody but platform users has any",
    (world) =>
      Effect.gen(function*() {
        const forms = yield* everyForm(world)
        const accounts = yield* TestAccounts
        yield* accounts.create("platform", "other@example.test")
        const other = yield* world.browserOf("other@example.test")
        const otherCsrf = Browser.formTo("/logout", yield* other.get(home)).hidden["csrf"] ?? ""
        const stranger = world.browser
        const csrf = Browser.formTo("/logout", yield* stranger.get("/account/applications")).hidden["csrf"] ?? ""
        const before = yield* state(world)
        for (const [action, fields] of Object.entries(forms)) {
          expect([action, (yield* stranger.post(action, { ...fields, csrf })).status]).toEqual([action, 403])
          if (action === home) continue
          expect([action, (yield* other.post(action, { ...fields, csrf: otherCsrf })).status]).toEqual([
            action,
            // The list does not tell whether there is such an application.
            action.endsWith("/end") && !action.includes("secret") ? 303 : 404
          ])
        }
        expect(yield* state(world)).toEqual(before)
      })
  )

  testing(
    "two that replace the secret at the same time, or one after the other: both show the one new secret",
    (world) =>
      Effect.gen(function*() {
        const { client, platformBrowser } = world
        const form = Browser.formTo(`${pathOf(world)}/secret`, yield* platformBrowser.get(`${pathOf(world)}/secrets`))
        const sent = platformBrowser.post(form.action, form.hidden)
        const answers = [...(yield* Effect.all([sent, sent], { concurrency: "unbounded" })), yield* sent]
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
        const shown = answers.map(({ body }) => /sl_cs_\w+/.exec(String(body))?.[0])
        expect([shown[0] === undefined, new Set(shown).size]).toEqual([false, 1])
        const { secrets } = yield* Effect.flatMap(Applications.Applications, ({ find }) => find(idOf(world)))
        expect(secrets).toHaveLength(2)
        expect((yield* world.form("/oauth/revoke", { ...client, token: "x" })).status).toBe(200)
        const fresh = { client_id: client.client_id, client_secret: shown[0] ?? "", token: "x" }
        expect((yield* world.form("/oauth/revoke", fresh)).status).toBe(200)
        const { audit } = yield* Service
        expect(audit.filter(({ action }) => action === "secret_rotated")).toHaveLength(1)
        // The same key with another choice, or after a further replacement, is another form.
        const leaked = yield* platformBrowser.post(form.action, { ...form.hidden, end_now: "true" })
        expect([leaked.status, String(leaked.body).includes(shown[0] ?? "")]).toEqual([409, false])
        const next = Browser.formTo(`${pathOf(world)}/secret`, yield* platformBrowser.get(`${pathOf(world)}/secrets`))
        yield* platformBrowser.post(next.action, { ...next.hidden, end_now: "true" })
        expect((yield* sent).status).toBe(409)
        expect((yield* world.form("/oauth/revoke", fresh)).status).not.toBe(200)
      })
  )
})

testing(
  "a double click registers one application, and each answer shows its secrets",
  (world) =>
    Effect.gen(function*() {
      const { platformBrowser } = world
      const { switches } = yield* Service
      const { hidden } = Browser.formTo(home, yield* platformBrowser.get(home))
      switches.afterStore = () => Effect.yieldNow()
      const click = platformBrowser.post(home, { ...hidden, name: "Twice", redirect_uris: "" })
      const clicks = [...(yield* Effect.all([click, click], { concurrency: "unbounded" })), yield* click]
      expect(clicks.map(({ status }) => status)).toEqual([201, 201, 201])
      expect(new Set(clicks.map(({ body }) => [...String(body).matchAll(/(?:sl_cs_|whsec_)\w+/g)].join())).size).toBe(1)
      const applications = yield* Applications.Applications
      const listed = yield* applications.list({ owner: Option.none(), after: Option.none(), limit: 100 })
      expect(listed.filter(({ name }) => name === "Twice")).toHaveLength(1)
    })
)

testing(
  "a form for an application can be sent after an operator has ended the newest one, and is refused after the end of its own",
  (world) =>
    Effect.gen(function*() {
      const { platformBrowser } = world
      const { hidden } = Browser.formTo(home, yield* platformBrowser.get(home))
      const applications = yield* Applications.Applications
      const endNewest = applications.list({ owner: Option.none(), after: Option.none(), limit: 1 }).pipe(
        Effect.flatMap(([newest]) => newest === undefined ? Effect.die("none is left") : applications.end(newest.id))
      )
      yield* endNewest
      const fields = { ...hidden, name: "Next", redirect_uris: "" }
      expect((yield* platformBrowser.post(home, fields)).status).toBe(201)
      yield* endNewest
      const again = yield* platformBrowser.post(home, fields)
      expect([again.status, again.body]).toEqual([409, expect.stringContaining("or was sent before")])
      const { hidden: shown } = Browser.formTo(home, again)
      expect((yield* platformBrowser.post(home, { ...fields, ...shown })).status).toBe(201)
    })
)

describe("wrong redirect URIs", () => {
  const cases: ReadonlyArray<readonly [name: string, typed: string, english: string, french: string]> = [
    [
      "one line",
      "https://a.test/\nhttp://b.test/\nhttps://c.test/",
      "Check line 2 of the redirect URIs:",
      "Vérifiez la ligne 2 des adresses"
    ],
    [
      "several lines, counted as the form shows them again",
      "\n\nhttps://a.test/\n\nb\nhttps://c.test/#x\nc",
      "Check lines 2, 3 and 4 of the redirect URIs:",
      "Vérifiez les lignes 2, 3 et 4 des adresses"
    ],
    [
      "a repeated line",
      "https://a.test/\nhttps://b.test/\nhttps://a.test/",
      "Line 3 of the redirect URIs repeats line 1.",
      "La ligne 3 des adresses de redirection répète la ligne 1."
    ],
    [
      "too many lines",
      Array.from({ length: 21 }, (_, index) => `https://a.test/${index}`).join("\n"),
      "The form has 21.",
      "Le formulaire en contient 21."
    ]
  ]
  for (const [name, typed, english, french] of cases) {
    testing(`${name}: the error names the lines`, (world) =>
      Effect.gen(function*() {
        const { platformBrowser } = world
        const { csrf = "" } = Browser.formTo("/logout", yield* platformBrowser.get(home)).hidden
        const fields = { csrf, name: "Named", redirect_uris: typed }
        for (const [language, sentence] of [["en", english], ["fr", french]] as const) {
          const page = yield* platformBrowser.post(pathOf(world), fields, { "accept-language": language })
          expect(page.status).toBe(422)
          expect(page.body).toContain(sentence)
        }
      }))
  }
})

describe("the pages that show a secret", () => {
  const isKept = (response: Http.Response) => response.headers["cache-control"] !== "no-store"

  testing("are not cached, and no address and no other page has it", (world) =>
    Effect.gen(function*() {
      const { platformBrowser } = world
      const path = pathOf(world)
      const form = Browser.formTo(`${path}/secret`, yield* platformBrowser.get(`${path}/secrets`))
      const shown = yield* platformBrowser.post(form.action, form.hidden)
      expect(isKept(shown)).toBe(false)
      const [secret = ""] = /sl_cs_\w+/.exec(String(shown.body)) ?? []
      expect(secret).not.toBe("")
      for (const target of [home, path, `${path}/secrets`, `${path}/deliveries`]) {
        expect((yield* platformBrowser.get(target)).body).not.toContain(secret)
      }
      const { audit } = yield* Service
      expect(audit.at(-1)?.action).toBe("secret_rotated")
      expect(JSON.stringify(audit)).not.toContain(secret)
    }))

  testing(
    "someone who is not signed in is sent to sign in, and comes back to a page",
    (world) =>
      Effect.gen(function*() {
        const stranger = yield* Browser.make
        const path = pathOf(world)
        for (
          const target of [
            home,
            path,
            `${path}/webhook`,
            `${path}/settings`,
            `${path}/secrets`,
            `${path}/signing-secret`,
            `${path}/deliveries?state=exhausted`
          ]
        ) {
          expect(World.redirectOf(yield* stranger.get(target))).toEqual({
            address: "/login",
            query: { return_to: target }
          })
        }
        const posted = yield* stranger.post(`${path}/secret`, { number: "2" })
        expect([posted.status, String(posted.body).includes("Nothing was changed.")]).toEqual([403, true])
        expect(String(posted.body)).toContain(`/login?return_to=${encodeURIComponent(`${path}/secrets`)}`)
      })
  )
})

describe("test events", () => {
  testing(
    "go to the subscription of one application, and do not wait for one another",
    (world) =>
      Effect.gen(function*() {
        const { id } = yield* subscribe(world)
        const deliveries = yield* Deliveries.Deliveries
        yield* TestClock.adjust("1 day")
        yield* deliveries.sendTest(idOf(world))
        yield* TestClock.adjust("1 second")
        yield* deliveries.sendTest(idOf(world))
        const found = yield* listed(world)
        expect(found.map(({ event, state, subscriptionId }) => [subscriptionId, state, event.objectType])).toEqual([
          [id, "pending", "registration"],
          [id, "pending", "registration"]
        ])
        expect(new Set(found.map(({ event }) => event.objectId)).size).toBe(2)
      })
  )

  testing("there is none without a subscription", (world) =>
    Effect.gen(function*() {
      const deliveries = yield* Deliveries.Deliveries
      expect((yield* Effect.flip(deliveries.sendTest(idOf(world))))._tag).toBe("@startlist/core/SubscriptionNotFound")
    }))
})

describe("the last day", () => {
  testing(
    "is 24 hours of the clock, the present one last, with zeros where nothing was tried",
    (world) =>
      Effect.gen(function*() {
        yield* TestClock.adjust("1000 hours")
        yield* TestClock.adjust("25 minutes")
        const { lastDay } = yield* SentDeliveries.make
        const { find } = yield* Applications.Applications
        const hours = yield* lastDay(yield* find(idOf(world)))
        expect(hours.map(({ startsAt }) => startsAt.epochMillis / 3_600_000)).toEqual(
          Array.from({ length: 24 }, (_, index) => 977 + index)
        )
        expect(hours.every(({ delivered, failed }) => delivered === 0 && failed === 0)).toBe(true)
      })
  )
})

describe("a user with another role than platform", () => {
  testing("sees the reason, and can sign out there and return as another user", (world) =>
    Effect.gen(function*() {
      const refused = yield* world.browser.get(home)
      expect(refused.status).toBe(403)
      const out = yield* world.browser.post("/logout", Browser.formTo("/logout", refused).hidden)
      expect(out.status).toBe(303)
      expect((yield* world.browser.get(home)).headers["location"]).toContain("/login")
      yield* world.browser.signIn("platform@example.test")
      expect((yield* world.browser.get(home)).status).toBe(200)
    }))
})

describe("an owner", () => {
  testing("pauses, resumes and ends the subscription; the page says which it is", (world) =>
    Effect.gen(function*() {
      const { findByApplication } = yield* Subscriptions.Subscriptions
      const subscription = yield* subscribe(world)
      const path = `${pathOf(world)}/subscription`
      const act = (form: Readonly<Record<string, string>>) =>
        Effect.gen(function*() {
          const { hidden } = Browser.formTo(path, yield* world.platformBrowser.get(`${pathOf(world)}/webhook`))
          return yield* world.platformBrowser.post(path, { ...hidden, ...form })
        })
      const isPaused = Effect.map(findByApplication(idOf(world)), Option.map(({ paused }) => paused))
      const notice = (response: Http.Response) =>
        Effect.map(
          world.platformBrowser.get(String(response.headers["location"])),
          ({ body }) => /role="status"[^>]*><p>(.*?)<\/p>/.exec(String(body))?.[1]
        )
      expect(yield* notice(yield* act({ action: "pause" }))).toBe(
        "The subscription of Race Planner is paused. Nothing is sent, and events wait in order until you resume it."
      )
      expect(yield* isPaused).toEqual(Option.some(true))
      expect((yield* world.platformBrowser.get(pathOf(world))).body).toContain(">paused<")
      expect(yield* notice(yield* act({ action: "resume" }))).toContain("Race Planner is active again.")
      expect(yield* isPaused).toEqual(Option.some(false))
      expect((yield* act({ action: "stop" })).status).toBe(400)
      expect((yield* act({ action: "end", subscription: String(subscription.id + 1) })).status).toBe(303)
      expect(yield* isPaused).toEqual(Option.some(false))
      const ended = yield* act({ action: "end", subscription: String(subscription.id) })
      expect(yield* notice(ended)).toContain("The subscription of Race Planner has ended.")
      expect(yield* isPaused).toEqual(Option.none())
    }))

  testing("cannot resume a subscription that an operator has paused, and sees why", (world) =>
    Effect.gen(function*() {
      const { findByApplication, pause, resume } = yield* Subscriptions.Subscriptions
      yield* subscribe(world)
      const path = `${pathOf(world)}/subscription`
      yield* pause(idOf(world), "owner")
      const { hidden } = Browser.formTo(path, yield* world.platformBrowser.get(`${pathOf(world)}/webhook`))
      yield* pause(idOf(world), "operator")
      const page = String((yield* world.platformBrowser.get(`${pathOf(world)}/webhook`)).body)
      expect(page).toContain("The operator of this service has paused the subscription")
      expect(page).not.toContain("value=\"resume\"")
      expect((yield* world.platformBrowser.post(path, { ...hidden, action: "resume" })).status).toBe(409)
      expect(Option.getOrThrow(yield* findByApplication(idOf(world))).paused).toBe(true)
      yield* resume(idOf(world), "operator")
      expect(String((yield* world.platformBrowser.get(`${pathOf(world)}/webhook`)).body)).toContain("value=\"pause\"")
    }))

  testing("creates a subscription, or sees why it was not created", (world) =>
    Effect.gen(function*() {
      const service = yield* Service
      const { findByApplication } = yield* Subscriptions.Subscriptions
      const path = `${pathOf(world)}/subscription`
      const create = (fields: Readonly<Record<string, string>>) =>
        Effect.gen(function*() {
          const { hidden } = Browser.formTo(path, yield* world.platformBrowser.get(`${pathOf(world)}/webhook`))
          const all = { callback_url: "https://app.test/hook", verify_token: "v", action: "create", ...fields }
          return yield* world.platformBrowser.post(path, { ...hidden, ...all })
        })
      const refusals = [
        [{ verify_token: "" }, "Enter a verify token of 1 to 1000 characters."],
        [{ callback_url: `https://app.test/${"x".repeat(250)}` }, "must not be longer than 255"]
      ] as const
      for (const [fields, sentence] of refusals) {
        const page = yield* create(fields)
        expect([page.status, String(page.body).includes(sentence)]).toEqual([422, true])
      }
      service.switches.validate = () => Effect.succeed(Callbacks.Answer.TimedOut({ detail: "" }))
      const late = yield* create({})
      expect([late.status, String(late.body).includes("did not answer the validation in time")]).toEqual([422, true])
      expect(yield* findByApplication(idOf(world))).toEqual(Option.none())
      service.switches.validate = answers
      expect((yield* create({})).status).toBe(303)
      const created = yield* findByApplication(idOf(world))
      expect(Option.map(created, ({ callbackUrl }) => callbackUrl)).toEqual(Option.some("https://app.test/hook"))
      expect(service.audit.at(-1)?.action).toBe("subscription_changed")
      const noted = service.audit.length
      const { hidden } = Browser.formTo(path, yield* world.platformBrowser.get(`${pathOf(world)}/webhook`))
      const again = { ...hidden, callback_url: "https://app.test/hook", verify_token: "v", action: "create" }
      expect((yield* world.platformBrowser.post(path, again)).status).toBe(303)
      expect(service.audit.length).toBe(noted)
      // The form of a page that was opened before: another callback must not seem to be subscribed.
      const stale = { ...again, callback_url: "https://app.test/other" }
      expect((yield* world.platformBrowser.post(path, stale)).status).toBe(409)
      expect(yield* findByApplication(idOf(world))).toEqual(created)
      const subscriptions = yield* Subscriptions.Subscriptions
      yield* subscriptions.end(idOf(world), Option.none())
      const applications = yield* Applications.Applications
      yield* applications.suspend(idOf(world))
      expect((yield* world.platformBrowser.post(path, stale)).status).toBe(409)
      expect(service.audit.length).toBe(noted)
    }))

  testing(
    "gives users a website, a privacy policy and a logo to look at before they allow the application",
    (world) =>
      Effect.gen(function*() {
        const fields = { name: "Race Planner", redirect_uris: World.redirectUri }
        const save = (links: Readonly<Record<string, string>>) =>
          Effect.gen(function*() {
            const { csrf = "" } =
              Browser.formTo(pathOf(world), yield* world.platformBrowser.get(`${pathOf(world)}/settings`)).hidden
            return yield* world.platformBrowser.post(pathOf(world), { ...fields, ...links, csrf })
          })
        for (
          const bad of [
            "http://app.test/",
            "javascript:alert(1)",
            "https://a@b.test/",
            `https://a.test/${"x".repeat(250)}`
          ]
        ) {
          for (const field of ["website", "privacy_policy", "logo"]) {
            const page = yield* save({ [field]: bad })
            expect([page.status, String(page.body).includes("or nothing.")]).toEqual([422, true])
          }
        }
        const links = {
          website: "https://app.test/about",
          privacy_policy: "https://app.test/privacy",
          logo: "https://images.test/logo.png"
        }
        expect((yield* save(links)).status).toBe(303)
        const consent = yield* world.browser.get(world.authorizeUrl())
        for (const link of Object.values(links)) expect(consent.body).toContain(`"${link}"`)
        expect(consent.headers["content-security-policy"]).toContain("img-src 'self' https://images.test;")
        expect((yield* save({})).status).toBe(303)
        const plain = yield* world.browser.get(world.authorizeUrl())
        expect(plain.body).not.toContain("images.test")
        expect(plain.headers["content-security-policy"]).toContain("img-src 'self';")
      })
  )

  testing("sees how many users are connected, and when the last token was issued", (world) =>
    Effect.gen(function*() {
      const shown = Effect.map(world.platformBrowser.get(pathOf(world)), ({ body }) =>
        String(body).slice(String(body).indexOf("Connected users")).slice(0, 400))
      expect(yield* shown).toContain("<dd>0</dd>")
      expect(yield* shown).toContain("not yet")
      yield* world.tokens()
      expect(yield* shown).toContain("<dd>1</dd>")
      expect(yield* shown).toContain("<time")
    }))

  testing("has a link that asks for access, with the application's own id", (world) =>
    Effect.gen(function*() {
      const page = String((yield* world.platformBrowser.get(pathOf(world))).body)
      const [link = ""] = /http[^<]*oauth\/authorize\?[^<]*/.exec(page) ?? []
      const url = new URL(link.replaceAll("&amp;", "&"))
      expect(Object.fromEntries(url.searchParams)).toEqual({
        client_id: world.client.client_id,
        redirect_uri: World.redirectUri,
        response_type: "code",
        scope: "read",
        state: "STATE"
      })
      expect((yield* world.browser.get(`${url.pathname}${url.search}`)).status).toBe(200)
      const applications = yield* Applications.Applications
      yield* applications.change(idOf(world), { requirePkce: true })
      const strict = String((yield* world.platformBrowser.get(pathOf(world))).body)
      expect(strict).toContain("The application requires PKCE.")
      expect(strict).toContain("code_challenge=CODE_CHALLENGE&amp;code_challenge_method=S256")
    }))

  testing(
    "reaches each section from every other one, and the pages above each page",
    (world) =>
      Effect.gen(function*() {
        yield* subscribe(world)
        const { id } = yield* (yield* Deliveries.Deliveries).sendTest(idOf(world))
        const path = pathOf(world)
        const linksOf = (body: unknown, part: RegExp) =>
          [...(part.exec(String(body))?.[0] ?? "").matchAll(/href="([^"]*)"/g)].map(([, href]) => href)
        const sections = ["", "/webhook", "/deliveries", "/settings", "/secrets"].map((section) => path + section)
        for (const section of sections) {
          const { body } = yield* world.platformBrowser.get(section)
          expect([section, linksOf(body, /<ul class="tabs">.*?<\/ul>/s)]).toEqual([section, sections])
          expect([section, linksOf(body, /<ol class="trail">.*?<\/ol>/s)]).toEqual([section, [home]])
          expect(body).toMatch(new RegExp(`href="${section}" aria-current="page"`))
        }
        const delivery = yield* world.platformBrowser.get(`${path}/deliveries/${id}`)
        expect(linksOf(delivery.body, /<ol class="trail">.*?<\/ol>/s)).toEqual([home, path, `${path}/deliveries`])
        expect(delivery.body).toContain(`<h1>Delivery ${id} (test event)</h1>`)
        expect((yield* world.platformBrowser.get(`${path}/deliveries`)).body).toContain("Waiting (1)")
      })
  )

  testing("without an application sees the next steps, and the guide", () =>
    Effect.gen(function*() {
      const accounts = yield* TestAccounts
      yield* accounts.create("platform", "new@example.test")
      const browser = yield* Browser.make
      const signedIn = yield* browser.signIn("new@example.test", undefined, home)
      expect(signedIn.status).toBe(303)
      const { body } = yield* browser.get(home)
      expect(body).toContain("Send users to its authorization link")
      expect(body).toContain("<a href=\"https://club.example/developers\">Guide for developers</a>")
    }), { platform: { guide: Option.some("https://club.example/developers") } })

  testing(
    "finds deliveries by object, webhook-id and time, and failed events are delivered again once",
    (world) =>
      Effect.gen(function*() {
        const { platformBrowser } = world
        yield* subscribe(world)
        const deliveries = yield* Deliveries.Deliveries
        const sent: Array<Delivery.Delivery> = []
        for (let hour = 0; hour < 3; hour++) {
          yield* TestClock.adjust("1 hour")
          sent.push(yield* deliveries.sendTest(idOf(world)))
        }
        const path = `${pathOf(world)}/deliveries`
        const action = `${pathOf(world)}/redeliver`
        const shown = (query: string) =>
          Effect.map(
            platformBrowser.get(`${path}?${query}`),
            ({ body }) => sent.filter(({ id }) => String(body).includes(`${path}/${id}"`)).map(({ id }) => id)
          )
        const [first, second, third] = sent
        if (first === undefined || second === undefined || third === undefined) throw new Error("nothing was sent")
        expect(yield* shown("")).toEqual([first.id, second.id, third.id])
        expect(yield* shown(`text=${encodeURIComponent(second.event.id)}`)).toEqual([second.id])
        expect(yield* shown(`text=${third.event.objectId}`)).toEqual([third.id])
        expect(yield* shown("text=nothing")).toEqual([])
        expect(yield* shown("since=1970-01-01T02:00&until=1970-01-01T03:00")).toEqual([second.id])
        expect(yield* shown("state=exhausted")).toEqual([])

        const notice = "does not accept events"
        expect((yield* platformBrowser.get(pathOf(world))).body).not.toContain(notice)
        expect(yield* endAll("exhausted")).toBe(3)
        for (
          const page of [
            pathOf(world),
            `${pathOf(world)}/webhook`,
            path,
            `${pathOf(world)}/signing-secret`,
            `${path}/${first.id}`
          ]
        ) {
          expect((yield* platformBrowser.get(page)).body).toContain(notice)
        }
        const again = (failed_since: string) =>
          Effect.gen(function*() {
            const { hidden } = Browser.formTo(action, yield* platformBrowser.get(path))
            return yield* platformBrowser.post(action, { ...hidden, failed_since })
          })
        expect((yield* again("yesterday")).status).toBe(422)
        expect((yield* again("1971-01-01T00:00")).headers["location"]).toContain("notice=redelivered&about=0")
        expect((yield* again("1970-01-01 00:00")).headers["location"]).toContain("notice=redelivered&about=3")
        expect((yield* again("1970-01-01 00:00")).headers["location"]).toContain("notice=redelivered&about=0")
        const all = yield* listed(world)
        expect(all.slice(0, 3).map(({ event, state }) => [event.id, state])).toEqual(
          [...sent].reverse().map(({ event }) => [event.id, "pending"])
        )
        expect(yield* endAll("exhausted")).toBe(3)
        // The first event fails once more. Its newest delivery counts.
        yield* deliveries.redeliver(first.id)
        expect(yield* endAll("exhausted")).toBe(1)
        expect((yield* again("1970-01-01 00:00")).headers["location"]).toContain("notice=redelivered&about=3")
        const newest = (yield* listed(world)).slice(0, 3).map(({ event }) => event.id)
        expect(newest.sort()).toEqual(sent.map(({ event }) => event.id).sort())
        expect((yield* platformBrowser.get(`${path}/${first.id}`)).body).toMatch(/redelivery \d+:.*pending/)
        expect(yield* endAll("exhausted")).toBe(3)
        expect((yield* platformBrowser.get(path)).body).toContain(notice)
        // The failed events belong to a subscription that has ended: nothing is delivered again.
        const subscriptions = yield* Subscriptions.Subscriptions
        yield* subscriptions.end(idOf(world), Option.none())
        yield* subscribe(world)
        expect((yield* again("1970-01-01 00:00")).headers["location"]).toContain("notice=redelivered&about=0")
        expect((yield* platformBrowser.get(path)).body).not.toContain(notice)
        yield* deliveries.sendTest(idOf(world))
        expect(yield* endAll("exhausted")).toBe(1)
        expect((yield* platformBrowser.get(path)).body).toContain(notice)
        expect((yield* again("1970-01-01 00:00")).headers["location"]).toContain("notice=redelivered&about=1")
        expect(yield* endAll("delivered")).toBe(1)
        expect((yield* platformBrowser.get(path)).body).not.toContain(notice)
      })
  )

  testing(
    "sees why a delivery waits: an earlier event, a pause, a suspension, the next attempt",
    (world) =>
      Effect.gen(function*() {
        yield* subscribe(world)
        const { pause, resume } = yield* Subscriptions.Subscriptions
        const applications = yield* Applications.Applications
        const queue = yield* DeliveryQueue.DeliveryQueue
        const { enqueue } = queue
        const test = yield* (yield* Deliveries.Deliveries).sendTest(idOf(world))
        const audience = Event.Audience.Application({ applicationId: idOf(world) })
        const [second] = yield* enqueue([{ event: { ...test.event, sequence: 2 }, audience }])
        const path = `${pathOf(world)}/deliveries`
        const reason = (id = test.id) =>
          Effect.map(
            world.platformBrowser.get(`${path}/${id}`),
            ({ body }) => /Waits because<\/dt><dd>(.*?)<a href="[^"]*">Reload/.exec(String(body))?.[1] ?? ""
          )
        expect(yield* reason()).toContain("a worker has not attempted it yet")
        expect(yield* reason(second)).toContain(`not delivered yet: <a href="${path}/${test.id}">`)
        yield* pause(idOf(world), "owner")
        expect(yield* reason(second)).toContain("the subscription is paused")
        yield* pause(idOf(world), "operator")
        expect(yield* reason()).toContain("the operator of this service has paused the subscription")
        yield* resume(idOf(world), "operator")
        yield* applications.suspend(idOf(world))
        expect(yield* reason()).toContain("the operator of this service has suspended the application")
        yield* applications.restore(idOf(world))
        const now = yield* DateTime.now
        const [claim] = yield* queue.claim({
          now,
          leaseEnds: DateTime.addDuration(now, "1 minute"),
          token: "t",
          limit: 1,
          perSubscription: 1,
          allowances: new Map()
        })
        if (claim === undefined) throw new Error("nothing is due")
        const attempt = { at: now, durationMs: 5, outcome: "rejected", status: Option.some(500), detail: "" } as const
        const failed = { ...claim.delivery, attempts: [attempt], dueAt: DateTime.addDuration(now, "5 seconds") }
        yield* queue.settle([{ token: "t", delivery: failed }])
        expect(yield* reason()).toContain("1 attempt has failed. Next attempt: <time")
        const { body } = yield* world.platformBrowser.get(`${path}/${test.id}`)
        expect(body).toContain("The request as it would be sent now")
      })
  )

  testing(
    "sees the request of a delivery as it would be sent now, with a signature that a receiver accepts",
    (world) =>
      Effect.gen(function*() {
        yield* subscribe(world)
        const deliveries = yield* Deliveries.Deliveries
        const applications = yield* Applications.Applications
        const { event, id, subscriptionId } = yield* deliveries.sendTest(idOf(world))
        const page = String((yield* world.platformBrowser.get(`${pathOf(world)}/deliveries/${id}`)).body)
        const header = (name: string) => new RegExp(`--header (?:&#39;|')${name}: ([^'&]*)`).exec(page)?.[1] ?? ""
        const { secrets } = yield* applications.signingSecrets(idOf(world))
        const [secret] = secrets.map(({ value }) => Redacted.value(value))
        const body = Event.body(event, subscriptionId)
        const key = Buffer.from((secret ?? "").replace("whsec_", ""), "base64")
        const content = `${event.id}.${header("webhook-timestamp")}.${body}`
        expect(header("webhook-signature")).toBe(`v1,${createHmac("sha256", key).update(content).digest("base64")}`)
        expect([header("webhook-id"), header("startlist-sequence")]).toEqual([event.id, String(event.sequence)])
        expect(page).toContain("curl --request POST")
        expect(page).not.toContain("whsec_")
      })
  )

  testing("sees that the application is suspended, and can delete it", (world) =>
    Effect.gen(function*() {
      const applications = yield* Applications.Applications
      yield* applications.suspend(idOf(world))
      const page = yield* world.platformBrowser.get(`${pathOf(world)}/settings`)
      expect(page.body).toContain("has suspended the application")
      const { hidden } = Browser.formTo(`${pathOf(world)}/end`, page)
      const end = (name: string) => world.platformBrowser.post(`${pathOf(world)}/end`, { ...hidden, name })
      for (const name of ["", "race planner", "Race"]) {
        const refused = yield* end(name)
        expect([refused.status, String(refused.body).includes("Nothing was deleted.")]).toEqual([422, true])
      }
      const { headers } = yield* end("Race Planner")
      const list = yield* world.platformBrowser.get(String(headers["location"]))
      expect(list.body).toContain("Race Planner is deleted. Its secrets, its subscription")
      // A second click finds no application, and a forged one learns nothing.
      expect((yield* end("Race Planner")).headers["location"]).toBe(headers["location"])
      const forged = yield* world.platformBrowser.post(`${pathOf(world)}/end`, { ...hidden, about: "Bank" })
      expect(forged.headers["location"]).toBe(home)
      expect((yield* world.platformBrowser.get(pathOf(world))).status).toBe(404)
      expect((yield* world.platformBrowser.get(home)).body).not.toContain(pathOf(world))
    }))
})

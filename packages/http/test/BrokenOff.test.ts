/** A client that disconnects right after a request cannot prevent its audit entry. */
import { expect } from "@effect/vitest"
import type { Audit } from "@startlist/core"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import * as Browser from "../../pages/test/support/Browser.ts"
import { Service } from "../../pages/test/support/Service.ts"
import { testing, type TestWorld } from "../../pages/test/support/Testing.ts"

interface Change {
  readonly action: Audit.Action
  readonly by: "browser" | "platformBrowser"
  /** Path of the page with the form. */
  readonly page: (world: TestWorld) => string
  /** The form. */
  readonly to: (world: TestWorld) => string
  /** The completed fields of the form. */
  readonly fields: Browser.Fields
  /** The method of the store that it calls. */
  readonly method: "save" | "insert"
}

const application = ({ client }: TestWorld) => `/developer/applications/${client.client_id}`

const changes: ReadonlyArray<Change> = [
  {
    action: "consent",
    by: "browser",
    page: ({ authorizeUrl }) => authorizeUrl(),
    to: () => "/oauth/authorize",
    fields: { decision: "allow" },
    method: "save"
  },
  {
    action: "revocation",
    by: "browser",
    page: () => "/account/applications",
    to: ({ client }) => `/account/applications/${client.client_id}/revoke`,
    fields: {},
    method: "save"
  },
  {
    action: "application_created",
    by: "platformBrowser",
    page: () => "/developer/applications",
    to: () => "/developer/applications",
    fields: { name: "Another", redirect_uris: "" },
    method: "insert"
  },
  {
    action: "application_changed",
    by: "platformBrowser",
    page: (world) => `${application(world)}/settings`,
    to: application,
    fields: { name: "Renamed", redirect_uris: "" },
    method: "save"
  },
  {
    action: "secret_rotated",
    by: "platformBrowser",
    page: (world) => `${application(world)}/secrets`,
    to: (world) => `${application(world)}/secret`,
    fields: {},
    method: "save"
  }
]

/** Sends a request, and disconnects while its change is saved. */
const breakOff = (request: Effect.Effect<unknown>, { action, method }: Pick<Change, "action" | "method">) =>
  Effect.gen(function*() {
    const { audit, switches } = yield* Service
    const saved = yield* Deferred.make<void>()
    const gone = yield* Deferred.make<void>()
    switches.afterStore = (called) =>
      called === method ? Effect.zipRight(Deferred.succeed(saved, undefined), Deferred.await(gone)) : Effect.void
    const before = audit.length
    const fiber = yield* Effect.fork(request)
    yield* Deferred.await(saved)
    yield* Fiber.interrupt(fiber)
    expect([action, audit.length]).toEqual([action, before])
    yield* Deferred.succeed(gone, undefined)
    yield* Effect.yieldNow().pipe(Effect.repeat({ until: () => audit.length > before, times: 100 }))
    expect(audit.at(-1)?.action).toBe(action)
  })

testing(
  "a change is completed and recorded even if the client disconnects while it is saved",
  (world) =>
    Effect.gen(function*() {
      const { access_token: token } = yield* world.tokens()
      const { client } = world
      yield* breakOff(world.form("/oauth/revoke", { ...client, token }), { action: "revocation", method: "save" })
      const code = yield* world.codeOf()
      yield* world.exchange(code)
      yield* TestClock.adjust("1 minute")
      yield* breakOff(world.exchange(code), { action: "replay_refused", method: "save" })
      for (const change of changes) {
        const browser = world[change.by]
        const { action, hidden } = Browser.formTo(change.to(world), yield* browser.get(change.page(world)))
        yield* breakOff(browser.post(action, { ...hidden, ...change.fields }), change)
      }
    }),
  { policy: { replay: "revoke" } }
)

/** Law 13: a person who is erased does not become the owner of an application at the same moment. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { eventually } from "@startlist/test-support/Eventually"
import { Browser, theForm } from "@startlist/test-support/Browser"
import { openAs } from "@startlist/test-support/Consent"
import { createApplication, createUser, operate } from "@startlist/test-support/Operator"

/** A service with a platform user, and a transaction that has run a statement and keeps its lock until `release`. */
const prepare = (lock: (ownerId: number) => string) =>
  Effect.gen(function*() {
    const service = yield* InProcessService.make()
    const { admin } = service.database
    const other = yield* Effect.acquireRelease(
      Effect.promise(() => admin.connect()),
      (client) => Effect.sync(() => client.release())
    )
    return yield* Effect.promise(async () => {
      const owner = await createUser(service, "platform")
      await other.query("BEGIN")
      await other.query(lock(owner.id))
      /** Waits until this number of statements wait for a lock. */
      const waiting = (count: number) =>
        eventually(async () => {
          const { rows } = await admin.query(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
          )
          return rows.length
        }, (found) => found === count)
      const erase = () => operate(service, "DELETE", `/users/${owner.id}`)
      return { service, owner, erase, waiting, release: () => other.query("COMMIT") }
    })
  })

it.scopedLive("an application that is created before the person is removed keeps the person", () =>
  Effect.gen(function*() {
    const { erase, owner, release, service, waiting } = yield* prepare(
      (ownerId) => `SELECT FROM startlist_users WHERE id = ${ownerId} FOR KEY SHARE`
    )
    yield* Effect.promise(async () => {
      const erased = erase()
      await waiting(1)
      const { client_id } = await createApplication(service, owner)
      await release()
      expect((await erased).status).toBe(409)
      expect((await operate(service, "GET", `/users/${owner.id}`)).status).toBe(200)
      expect((await operate(service, "GET", `/applications/${client_id}`)).body.owner_id).toBe(owner.id)
    })
  }))

it.scopedLive("a person who is being removed gets no application, neither a new one nor one of another owner", () =>
  Effect.gen(function*() {
    const { erase, owner, release, service, waiting } = yield* prepare(
      (ownerId) => `SELECT FROM startlist_passwords WHERE user_id = ${ownerId} FOR UPDATE`
    )
    yield* Effect.promise(async () => {
      const { client_id } = await createApplication(service, await createUser(service, "platform"))
      const erased = erase()
      await waiting(1)
      const asked = [
        operate(service, "POST", "/applications", { name: "Late", owner_id: owner.id, redirect_uris: [] }),
        operate(service, "PATCH", `/applications/${client_id}`, { owner_id: owner.id })
      ]
      await waiting(1 + asked.length)
      await release()
      expect((await erased).status).toBe(204)
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([422, 422])
      const { applications } = (await operate(service, "GET", "/applications")).body
      expect(applications.map((one: { readonly owner_id: number }) => one.owner_id)).not.toContain(owner.id)
    })
  }))

it.scopedLive("a person who registers an application on the page is not erased until it is saved", () =>
  Effect.gen(function*() {
    const { erase, owner, release, service, waiting } = yield* prepare(() =>
      "LOCK TABLE startlist_applications IN EXCLUSIVE MODE"
    )
    yield* Effect.promise(async () => {
      const browser = new Browser()
      const page = await openAs(browser, `${service.url}/developer/applications`, owner)
      const form = theForm(page, ({ fields }) => fields.has("key"))
      const registered = browser.submit(form, { name: "Race Hub", redirect_uris: "https://racehub.example/" })
      await waiting(1)
      const erased = erase()
      await waiting(2)
      await release()
      expect((await registered).status).toBe(201)
      expect((await erased).status).toBe(409)
    })
  }))

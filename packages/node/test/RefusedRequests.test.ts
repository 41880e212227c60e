/** Unusual requests to the running service: which are refused, which are served, and which are recorded. */
import { expect, layer } from "@effect/vitest"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  exchange,
  obtainTokens,
  openAs,
  pressForSigningSecrets,
  subscribe
} from "@startlist/test-support/Consent"
import { Browser } from "@startlist/test-support/Browser"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"
import { createApplication, createUser, operate } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { Effect } from "effect"

const scopes = { SCOPES: "profile:read,read,webhooks", WEBHOOK_SCOPE: "webhooks" }

layer(InProcessService.layer(scopes))("the running service", (it) => {
  it.effect(
    "a refused revocation is in the audit with application and status, and the token stays valid",
    on(async (service) => {
      const [owner, athlete] = [await createUser(service, "platform"), await createUser(service, "athlete")]
      const client = await createApplication(service, owner)
      const { access_token: token } = await obtainTokens(service, client, athlete)
      const { client_id, client_secret } = client
      const refused = await fetch(`${service.url}/oauth/revoke?client_id=${client_id}`, {
        method: "POST",
        headers: {
          authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
          "content-type": "application/json"
        },
        body: JSON.stringify({ token })
      })
      expect([refused.status, await refused.text()]).toEqual([415, "{}"])
      expect(await athleteStatus(service, token)).toBe(200)
      const { body } = await operate(service, "GET", "/audit?limit=20")
      const party = { type: "application", id: client_id }
      expect(body.entries).toContainEqual(
        expect.objectContaining({ action: "revocation_refused", actor: party, outcome: "refused", detail: "415" })
      )
    })
  )

  it.effect(
    "with WEBHOOK_SCOPE, the webhook API needs the scope",
    on(async (service) => {
      const owner = await createUser(service, "platform")
      const client = await createApplication(service, owner)
      const statusWith = async (scope: string) => {
        const { access_token } = await obtainTokens(service, client, owner, { scope })
        const headers = { authorization: `Bearer ${access_token}` }
        return fetch(`${service.url}/api/v1/webhook_subscription`, { headers })
      }
      const narrow = await statusWith("read")
      expect(narrow.status).toBe(403)
      expect(narrow.headers.get("www-authenticate")).toContain("scope=\"webhooks\"")
      expect(await narrow.json()).toMatchObject({
        error: "insufficient_scope",
        error_description: "the scope webhooks is required"
      })
      expect((await statusWith("read webhooks")).status).toBe(404)
    })
  )

  it.scoped("a subscription whose signing secret no key opens can be shown, get a new secret, and be deleted", () =>
    Effect.gen(function*() {
      const service = yield* InProcessService.InProcessService
      const receiver = yield* makeReceiver
      yield* Effect.promise(async () => {
        const owner = await createUser(service, "platform")
        const client = await createApplication(service, owner)
        const { access_token } = await obtainTokens(service, client, owner, { scope: "read webhooks" })
        expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
        const { admin } = service.database
        const damage = "UPDATE startlist_applications SET signing_secrets = '[[\"1.AAAA\", null]]' WHERE id = $1"
        expect((await admin.query(damage, [client.client_id])).rowCount).toBe(1)

        const ask = (method: string) =>
          fetch(`${service.url}/api/v1/webhook_subscription`, {
            method,
            headers: { authorization: `Bearer ${access_token}` }
          })
        const shown = await ask("GET")
        expect([shown.status, JSON.stringify(await shown.json())]).toEqual([200, expect.stringContaining(receiver.url)])
        const page = `${service.url}/developer/applications/${client.client_id}/webhook`
        expect((await openAs(new Browser(), page, owner)).html).toContain(receiver.url)
        expect(await pressForSigningSecrets(service, client, owner, "reveal")).toEqual([])
        expect(await pressForSigningSecrets(service, client, owner, "rotate")).toHaveLength(1)
        expect((await ask("DELETE")).status).toBe(204)
        expect((await ask("GET")).status).toBe(404)
      })
    }))

  it.effect(
    "an error page shows the request id that the response and the log have",
    on(async (service) => {
      for (const headers of [{}, { "x-request-id": "support-case-7" }]) {
        const page = await fetch(`${service.url}/nowhere`, { headers })
        const name = page.headers.get("x-request-id")
        expect(await page.text()).toContain(`>${name}</code>`)
        expect(name).toMatch("x-request-id" in headers ? /^support-case-7$/ : /^[\w-]+$/)
      }
    })
  )

  it.effect(
    "empty and long states are returned after sign-in and at the exchange",
    on(async (service) => {
      const [owner, athlete] = [await createUser(service, "platform"), await createUser(service, "athlete")]
      const client = await createApplication(service, owner)
      for (const state of ["", "x".repeat(11_000)]) {
        const back = await consent(authorizeUrl(service, client, { state }), athlete)
        expect(back.searchParams.get("state")).toBe(state)
        const tokens = await exchange(service, client, back.searchParams.get("code") ?? "")
        expect(await tokens.json()).toMatchObject({ state })
      }
      const long = await fetch(authorizeUrl(service, client, { state: "x".repeat(13_000) }), { redirect: "manual" })
      expect([long.status, long.headers.get("content-type")]).toEqual([414, "text/html;charset=UTF-8"])
    })
  )
})

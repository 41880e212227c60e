/** What the running service answers to requests that it refuses, and what the operator can read about them. */
import { expect, layer } from "@effect/vitest"
import { athleteStatus, authorizeUrl, consent, exchange, obtainTokens } from "@startlist/test-support/Consent"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on } from "@startlist/test-support/InProcessService"
import { createApplication, createUser, operate } from "@startlist/test-support/Operator"

const scopes = { SCOPES: "profile:read,read,webhooks", WEBHOOK_SCOPE: "webhooks" }

layer(InProcessService.layer(scopes), { timeout: "60 seconds" })("the running service", (it) => {
  it.effect(
    "a refused revocation is in the audit, with the application and the status, and the token lives",
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
    "WEBHOOK_SCOPE binds the webhook interface to a scope",
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

  it.effect(
    "an empty state, and a long one, come back through sign-in, and at the exchange",
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

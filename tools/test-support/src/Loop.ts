/** The whole loop over real sockets, with independent client libraries, against any server. */
import { expect, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import * as openid from "openid-client"
import { AuthorizationCode } from "simple-oauth2"
import { Webhook } from "standardwebhooks"
import { Browser, formsOf, theForm } from "./Browser.ts"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  exchange,
  obtainTokens,
  openAs,
  postForm,
  pressForSigningSecrets,
  redirectUri,
  refresh,
  revealSigningSecret,
  revoke,
  subscribe
} from "./Consent.ts"
import { LoopServer } from "./LoopServer.ts"
import { makeReceiver, type Received } from "./Receiver.ts"

/** A platform user with an application, and an athlete. */
const prepare = async (service: LoopServer["Type"]) => {
  const platform = await service.createUser("platform")
  const athlete = await service.createUser("athlete")
  const client = await service.createApplication(platform)
  return { platform, athlete, client }
}

/** The origin, against which the library resolves paths. */
const withoutSlash = (url: string) => {
  const { origin, pathname } = new URL(url)
  return { origin, pathname: pathname === "/" ? "" : pathname }
}

const nowInSeconds = () => Math.floor(Date.now() / 1000)

/** A test over HTTP. */
const on = (test: (service: LoopServer["Type"]) => Promise<void>) => (): Effect.Effect<void, never, LoopServer> =>
  Effect.flatMap(LoopServer, (service) => Effect.promise(() => test(service)))

export const suite = (name: string, server: Layer.Layer<LoopServer>): void =>
  layer(server, { excludeTestServices: true })(name, (it) => {
    it.effect(
      "allow: the redirect carries code, scope and state, and the exchange gives exactly the documented fields",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const back = await consent(authorizeUrl(service, client, { state: "s p/é&=" }), athlete)
        expect(back.href.split("?")[0]).toBe(redirectUri)
        expect([...back.searchParams.keys()].sort()).toEqual(["code", "scope", "state"])
        expect(back.searchParams.get("scope")).toBe("profile:read read")
        expect(back.searchParams.get("state")).toBe("s p/é&=")

        const response = await exchange(service, client, back.searchParams.get("code") ?? "")
        const tokens = await response.json()
        expect(response.status).toBe(200)
        expect(response.headers.get("cache-control")).toContain("no-store")
        expect(tokens).toEqual({
          token_type: "Bearer",
          access_token: expect.any(String),
          refresh_token: expect.any(String),
          scope: "profile:read read",
          created_at: expect.any(Number),
          expires_in: 28800,
          state: "s p/é&="
        })
        expect(Math.abs(tokens.created_at - nowInSeconds())).toBeLessThan(30)
      })
    )

    it.effect(
      "allow without state: neither the redirect nor the exchange mentions one",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const back = await consent(authorizeUrl(service, client), athlete)
        expect(back.searchParams.has("state")).toBe(false)
        const tokens = await (await exchange(service, client, back.searchParams.get("code") ?? "")).json()
        expect(tokens).not.toHaveProperty("state")
      })
    )

    for (const state of ["xyz", undefined]) {
      it.effect(
        `deny ${state === undefined ? "without" : "with"} state: the redirect says access_denied and gives no code`,
        on(async (service) => {
          const { athlete, client } = await prepare(service)
          const back = await consent(
            authorizeUrl(service, client, state === undefined ? {} : { state }),
            athlete,
            "deny"
          )
          expect(back.searchParams.get("error")).toBe("access_denied")
          expect(back.searchParams.get("state")).toBe(state ?? null)
          expect(back.searchParams.has("code")).toBe(false)
          const page = await openAs(new Browser(), `${service.url}/account/applications`, athlete)
          expect(page.html).toContain("No application has access")
        })
      )
    }

    it.effect(
      "role: the right one passes, for another one the page shows an error",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const back = await consent(authorizeUrl(service, client, { role: "athlete" }), athlete)
        expect(back.searchParams.get("code")).toMatch(/^sl_ac_\d+_\d+_[\w-]{43}$/)

        const page = await openAs(new Browser(), authorizeUrl(service, client, { role: "organizer" }), athlete)
        expect(formsOf(page).filter(({ buttons }) => buttons.some(([, value]) => value === "allow"))).toEqual([])
        expect(page.html).toContain("organizer")
      })
    )

    it.effect(
      "locale: the consent page speaks French if asked to, and English otherwise",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const french = await openAs(new Browser(), authorizeUrl(service, client, { locale: "fr" }), athlete)
        expect(french.html).toContain("<html lang=\"fr\"")
        const english = await openAs(new Browser(), authorizeUrl(service, client, { locale: "en" }), athlete)
        expect(english.html).toContain("<html lang=\"en\"")
      })
    )

    it.effect(
      "the exchange takes its parameters from the query, from a form body, and client credentials by Basic",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const browser = new Browser()
        const code = async () => {
          const back = await consent(authorizeUrl(service, client), athlete, "allow", browser)
          return back.searchParams.get("code") ?? ""
        }
        const url = `${service.url}/oauth/token`
        const id = String(client.client_id)
        const secret = client.client_secret
        const grant_type = "authorization_code"

        const query = new URLSearchParams({ client_id: id, client_secret: secret, grant_type, code: await code() })
        expect((await fetch(`${url}?${query}`, { method: "POST" })).status).toBe(200)

        const form = { client_id: id, client_secret: secret, grant_type, code: await code() }
        expect((await postForm(url, form)).status).toBe(200)

        const basic = Buffer.from(`${id}:${secret}`).toString("base64")
        const byBasic = await postForm(url, { grant_type, code: await code() }, { authorization: `Basic ${basic}` })
        expect(byBasic.status).toBe(200)
      })
    )

    it.effect(
      "openid-client discovers the server, walks through the grant with PKCE, reads, refreshes and revokes",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const config = await openid.discovery(
          new URL(service.url),
          String(client.client_id),
          undefined,
          openid.ClientSecretPost(client.client_secret),
          { algorithm: "oauth2", execute: [openid.allowInsecureRequests] }
        )
        const verifier = openid.randomPKCECodeVerifier()
        const state = openid.randomState()
        const url = openid.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: "profile:read",
          state,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: "S256"
        })
        const back = await consent(url.href, athlete)
        const tokens = await openid.authorizationCodeGrant(config, back, {
          pkceCodeVerifier: verifier,
          expectedState: state
        })
        expect(tokens.expires_in).toBe(28800)

        const resource = new URL(`${service.url}/api/v1/athlete`)
        const read = await openid.fetchProtectedResource(config, tokens.access_token, resource, "GET")
        expect(await read.json()).toEqual({ id: athlete.id, first_name: "Ada", last_name: "Lovelace" })

        const fresh = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "")
        expect(Object.keys(fresh).sort()).toEqual([
          "access_token",
          "created_at",
          "expires_in",
          "refresh_token",
          "token_type"
        ])
        const replaced = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "").catch((error) => error)
        expect(replaced).toBeInstanceOf(openid.ResponseBodyError)
        expect(replaced).toMatchObject({ status: 401, error: "invalid_grant" })

        await openid.tokenRevocation(config, fresh.access_token)
        expect(await athleteStatus(service, fresh.access_token)).toBe(401)
        expect(await athleteStatus(service, tokens.access_token)).toBe(401)
      })
    )

    for (const authorizationMethod of ["body", "header"] as const) {
      it.effect(
        `simple-oauth2 walks through the grant with credentials in the ${authorizationMethod}`,
        on(async (service) => {
          const { athlete, client } = await prepare(service)
          const { origin, pathname } = withoutSlash(service.url)
          const oauth = new AuthorizationCode({
            client: { id: String(client.client_id), secret: client.client_secret },
            auth: {
              tokenHost: origin,
              tokenPath: `${pathname}/oauth/token`,
              authorizePath: `${pathname}/oauth/authorize`,
              revokePath: `${pathname}/oauth/revoke`
            },
            options: { authorizationMethod }
          })
          const url = oauth.authorizeURL({ redirect_uri: redirectUri, scope: "profile:read", state: "abc" })
          const back = await consent(url, athlete)
          const code = back.searchParams.get("code") ?? ""
          const token = await oauth.getToken({ code, redirect_uri: redirectUri })
          expect(token.expired()).toBe(false)
          expect(await athleteStatus(service, String(token.token["access_token"]))).toBe(200)

          const fresh = await token.refresh()
          expect(fresh.token["refresh_token"]).not.toBe(token.token["refresh_token"])
          const replaced = await token.refresh().catch((error) => error)
          expect(replaced.output.statusCode).toBe(401)

          await fresh.revokeAll()
          expect(await athleteStatus(service, String(fresh.token["access_token"]))).toBe(401)
        })
      )
    }

    it.effect(
      "revocation by the application answers {} and ends every token of it for that user",
      on(async (service) => {
        const { athlete, client } = await prepare(service)
        const first = await obtainTokens(service, client, athlete)
        const second = await (await refresh(service, client, first.refresh_token)).json()

        const answer = await revoke(service, client, first.access_token)
        expect(answer.status).toBe(200)
        expect(await answer.json()).toEqual({})

        expect(await athleteStatus(service, first.access_token)).toBe(401)
        expect(await athleteStatus(service, second.access_token)).toBe(401)
        for (const { refresh_token } of [first, second]) {
          expect((await refresh(service, client, refresh_token)).status).toBe(401)
        }
        const page = await openAs(new Browser(), `${service.url}/account/applications`, athlete)
        expect(page.html).toContain("No application has access")
      })
    )

    it.scoped("a status change and a user's revocation reach the subscription, signed, with exactly these bodies", () =>
      Effect.gen(function*() {
        const service = yield* LoopServer
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          const { athlete, client, platform } = await prepare(service)
          const organizer = await service.createUser("organizer")
          const owner = await obtainTokens(service, client, platform)
          const tokens = await obtainTokens(service, client, athlete)

          const created = await subscribe(service, owner.access_token, receiver.url)
          const subscription = await created.json()
          expect(created.status).toBe(201)
          const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          expect(subscription).toEqual({
            id: expect.any(Number),
            callback_url: receiver.url,
            created_at: iso,
            updated_at: iso
          })
          const challenge = new URL(receiver.received[0]?.url ?? "", receiver.url).searchParams
          expect(Object.fromEntries(challenge)).toEqual({
            "hub.mode": "subscribe",
            "hub.challenge": expect.stringMatching(/.{20,}/),
            "hub.verify_token": "the verify token"
          })

          const registration = await service.createRegistration({
            athlete_id: athlete.id,
            organizer_id: organizer.id,
            platform_id: "PLT-7"
          })
          const before = nowInSeconds()
          const change = { registration_status: "validated", document_status: "accepted", reasons: ["a", "é"] }
          expect(await service.changeRegistration(registration, change)).toBe(200)
          const [event] = await receiver.posts(1)
          expect(JSON.parse(event?.body ?? "")).toEqual({
            aspect_type: "updated",
            object_type: "registration",
            object_id: registration,
            updates: {
              platform_id: "PLT-7",
              registration_status: "validated",
              document_type: "",
              document_status: "accepted",
              reasons: ["a", "é"],
              comment: ""
            },
            subscription_id: subscription.id,
            event_time: expect.any(Number)
          })
          expect(JSON.parse(event?.body ?? "").event_time).toBeGreaterThanOrEqual(before)
          expect(event?.headers["content-type"]).toBe("application/json")

          const browser = new Browser()
          const settings = await openAs(browser, `${service.url}/account/applications`, athlete)
          expect(settings.html).toContain("Race Day")
          const path = `/account/applications/${client.client_id}/revoke`
          const after = await browser.submit(theForm(settings, ({ action }) => action === `${service.url}${path}`))
          expect(after.html).toContain("Race Day no longer has access")
          expect(after.html).toContain("No application has access")
          const [, deleted] = await receiver.posts(2)
          expect(JSON.parse(deleted?.body ?? "")).toEqual({
            aspect_type: "deleted",
            object_type: "athlete",
            object_id: athlete.id,
            updates: {},
            subscription_id: subscription.id,
            event_time: expect.any(Number)
          })
          expect(await athleteStatus(service, tokens.access_token)).toBe(401)
          expect((await refresh(service, client, tokens.refresh_token)).status).toBe(401)

          const answer = await revoke(service, client, owner.refresh_token)
          expect([answer.status, await answer.json()]).toEqual([200, {}])
          const gone = await fetch(`${service.url}/api/v1/webhook_subscription`, {
            headers: { authorization: `Bearer ${owner.access_token}` }
          })
          expect(gone.status).toBe(401)

          expect(await service.deliveryStates(client)).toEqual(["delivered", "delivered"])
        })
      }))

    it.scoped("events verify with the secret that the owner sees, with both while it is rotated, and not if changed", () =>
      Effect.gen(function*() {
        const service = yield* LoopServer
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          const { athlete, client, platform } = await prepare(service)
          const owner = await obtainTokens(service, client, platform)
          await obtainTokens(service, client, athlete)
          expect((await subscribe(service, owner.access_token, receiver.url)).status).toBe(201)
          const registration = await service.createRegistration({ athlete_id: athlete.id })

          const nextEvent = async (number: number) => {
            await service.changeRegistration(registration, { registration_status: `status ${number}` })
            const event = (await receiver.posts(number))[number - 1]
            if (event === undefined) throw new Error("no event")
            return event
          }
          const verifies = (secret: string | undefined, body: string, { headers }: Received) => {
            try {
              new Webhook(secret ?? "").verify(body, {
                "webhook-id": String(headers["webhook-id"]),
                "webhook-timestamp": String(headers["webhook-timestamp"]),
                "webhook-signature": String(headers["webhook-signature"])
              })
              return true
            } catch {
              return false
            }
          }

          const first = await revealSigningSecret(service, client, platform)
          const event = await nextEvent(1)
          expect(verifies(first, event.body, event)).toBe(true)
          expect(verifies(first, event.body.replace("status 1", "status 2"), event)).toBe(false)

          const rotated = await pressForSigningSecrets(service, client, platform, "rotate")
          const second = rotated.find((secret) => secret !== first)
          expect(second).toBeDefined()
          const later = await nextEvent(2)
          expect([first, second].map((secret) => verifies(secret, later.body, later))).toEqual([true, true])
          expect(verifies(second, event.body, event)).toBe(false)
        })
      }))
  })

/** The service as a process, with its database and outgoing requests, used with a real browser. */
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { authorizeUrl, obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { createApplication, createUser } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import * as TestService from "@startlist/test-support/TestService"
import { makeApplication } from "./support/Application.ts"
import { isMissing, launch, person } from "@startlist/test-support/Chromium"
import { openAs, press } from "./support/EveryPage.ts"

describe.skipIf(isMissing)("the service in Chromium (skipped without Chromium)", () => {
  layer(TestService.layer(), { excludeTestServices: true })((it) => {
    it.scoped("an athlete allows an application, and revokes its access", () =>
      Effect.gen(function*() {
        const service = yield* TestService.TestService
        const browser = yield* launch
        const app = yield* makeApplication
        yield* Effect.promise(async () => {
          const client = await createApplication(service, await createUser(service, "platform"))
          const athlete = await createUser(service, "athlete")
          const { complaints, page } = await person(browser)
          await openAs(
            page,
            service,
            athlete.email,
            authorizeUrl(service, client, { redirect_uri: app.redirectUri }),
            athlete.password
          )
          await press(page, "Allow")
          await page.waitForURL(`${app.url}/**`)
          expect(new URL(page.url()).searchParams.get("code")).toMatch(/^sl_ac_/)
          await page.goto(`${service.url}/account/applications`)
          await page.getByText("Revoke access…").click()
          await press(page, "Revoke the access of Race Day")
          expect(await page.locator("main").textContent()).toContain("No application has access to your account.")
          expect(complaints).toEqual([])
        })
      }))

    it.scoped("a developer registers an application, and sees a test event delivered", () =>
      Effect.gen(function*() {
        const service = yield* TestService.TestService
        const browser = yield* launch
        const receiver = yield* makeReceiver
        yield* Effect.promise(async () => {
          const developer = await createUser(service, "platform")
          const { complaints, page } = await person(browser)
          await openAs(page, service, developer.email, "/developer/applications", developer.password)
          await page.getByLabel("Name").fill("Race Day")
          await press(page, "Register")
          const client = {
            client_id: Number(await page.getByLabel("client_id").inputValue()),
            client_secret: await page.getByLabel("client_secret").inputValue()
          }
          const { access_token } = await obtainTokens(service, client, developer)
          expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
          await page.goto(`${service.url}/developer/applications/${client.client_id}/webhook`)
          await press(page, "Send a test event")
          const [event] = await receiver.posts(1)
          expect(JSON.parse(event?.body ?? "")).toMatchObject({ updates: { registration_status: "test" } })
          await expect.poll(async () => {
            await page.reload()
            return await page.getByRole("row").count()
          }).toBe(2)
          await page.goto(`${service.url}/developer/applications/${client.client_id}`)
          expect(await page.locator("figcaption").textContent()).toContain("Delivered: 1, failed: 0")
          expect(complaints).toEqual([])
        })
      }))
  })
})

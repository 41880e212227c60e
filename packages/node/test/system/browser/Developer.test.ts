/** The developer pages in a real browser, without JavaScript: the life of an application and of its deliveries. */
import { describe, expect, layer } from "@effect/vitest"
import type { ApplicationId } from "@startlist/core/Application"
import { Applications } from "@startlist/core/Applications"
import { Effect, Option, Redacted } from "effect"
import { isMissing } from "@startlist/test-support/Chromium"
import { openAs, press } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import { inBrowser, type Scene } from "./support/Testing.ts"

const home = "/developer/applications"

const createOwner = ({ name, site }: Scene) => site.run(Story.createUser("platform", `developer-${name}@example.org`))

/** An application of a platform user, with a subscription. */
const prepare = (scene: Scene) =>
  scene.site.run(Effect.gen(function*() {
    const owner = yield* Story.createUser("platform", `developer-${scene.name}@example.org`)
    const { application, secret, signingSecret } = yield* Story.register(owner, "Race Hub", [
      "https://racehub.example/callback"
    ])
    const subscription = yield* Story.subscribe(application.id)
    return { application, owner, path: `${home}/${application.id}`, secret, signingSecret, subscription }
  }))

const isAccepted = ({ site }: Scene, id: ApplicationId, secret: string) =>
  site.run(Effect.gen(function*() {
    const applications = yield* Applications
    return yield* Effect.isSuccess(applications.authenticate({ id, secret: Redacted.make(secret) }))
  }))

const secretOf = ({ page }: Scene) => page.getByLabel("client_secret").inputValue()

const heading = ({ page }: Scene) => page.locator("h1").textContent()

describe.skipIf(isMissing)("developer pages in Chromium (skipped without Chromium)", () => {
  layer(Testing.layer, { excludeTestServices: true })((it) => {
    it.effect(
      "a registered application's secret is shown in the answer to the form only, also if it is sent again, and never in a URL",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const owner = await createOwner(scene)
        await openAs(page, site, owner.email, home)
        expect(await page.locator("main").textContent()).toContain("You have not registered an application yet.")
        await page.getByLabel("Name").fill("Race Hub")
        await page.getByLabel("Redirect URIs").fill("https://a.example/cb\n\n  https://b.example/cb  ")
        await press(page, "Register")
        expect(await heading(scene)).toBe("Race Hub is registered")
        const secret = await secretOf(scene)
        expect(secret).toMatch(/^sl_cs_[\w-]{43}$/)
        expect(page.url()).toBe(`${site.url}${home}`)
        await page.reload()
        expect(await secretOf(scene)).toBe(secret)
        const applications = await site.run(
          Effect.flatMap(
            Applications,
            ({ list }) => list({ owner: Option.some(owner.id), after: Option.none(), limit: 9 })
          )
        )
        expect(applications.map(({ name, redirectUris }) => [name, redirectUris])).toEqual([
          ["Race Hub", ["https://a.example/cb", "https://b.example/cb"]]
        ])
        await page.getByRole("link", { name: "continue to Race Hub" }).click()
        expect(await heading(scene)).toBe("Race Hub")
        expect(await page.content()).not.toContain(secret)
      })
    )

    it.effect(
      "wrong settings are reported beside their fields, which keep their values, and nothing is saved",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { application, owner, path } = await prepare(scene)
        await openAs(page, site, owner.email, `${path}/settings`)
        const uris = page.getByLabel("Redirect URIs")
        const typed = "https://racehub.example/callback\nhttp://racehub.example/callback"
        await uris.fill(typed)
        await press(page, "Save")
        expect(await page.title()).toBe("Error: Settings · Race Hub · Startlist")
        expect(await page.getByRole("alert").evaluate((element) => element === document.activeElement)).toBe(true)
        expect(await uris.inputValue()).toBe(typed)
        expect(await uris.getAttribute("aria-invalid")).toBe("true")
        const described = (await uris.getAttribute("aria-describedby") ?? "").split(" ")
        expect(await page.locator(`#${described[0]}`).textContent()).toContain("Check line 2 of the redirect URIs")
        await page.getByRole("alert").getByRole("link").click()
        expect(await uris.evaluate((element) => element === document.activeElement)).toBe(true)
        await uris.fill("https://other.example/callback")
        await page.getByLabel("Require PKCE").check()
        await press(page, "Save")
        expect(await page.getByRole("status").textContent()).toContain("The settings of Race Hub are saved.")
        const saved = await site.run(Effect.flatMap(Applications, ({ find }) => find(application.id)))
        expect(saved).toMatchObject({ redirectUris: ["https://other.example/callback"], requirePkce: true })
      })
    )

    it.effect(
      "a new secret works beside the previous one; a form that is sent twice does not revoke the one in use",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { application, owner, path, secret } = await prepare(scene)
        await openAs(page, site, owner.email, `${path}/secrets`)
        await page.getByText("Replace the secret…").click()
        await press(page, "Replace the secret")
        const fresh = await secretOf(scene)
        await page.reload()
        expect(await secretOf(scene)).toBe(fresh)
        expect(await isAccepted(scene, application.id, fresh)).toBe(true)
        expect(await isAccepted(scene, application.id, Redacted.value(secret))).toBe(true)
        await page.getByRole("link", { name: "continue to Race Hub" }).click()
        await page.getByRole("link", { name: "Secrets" }).click()
        expect(await page.getByRole("table", { name: "Valid secrets" }).getByRole("row").count()).toBe(3)
        await press(page, "End secret 1")
        expect(await isAccepted(scene, application.id, Redacted.value(secret))).toBe(false)
        expect(await isAccepted(scene, application.id, fresh)).toBe(true)
      })
    )

    it.effect(
      "a leaked secret can be revoked immediately",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { application, owner, path, secret } = await prepare(scene)
        await openAs(page, site, owner.email, `${path}/secrets`)
        await page.getByText("Replace the secret…").click()
        await page.getByLabel("The current secret has leaked").check()
        await press(page, "Replace the secret")
        expect(await page.locator("main").textContent()).toContain("The previous secret is no longer valid.")
        expect(await isAccepted(scene, application.id, await secretOf(scene))).toBe(true)
        expect(await isAccepted(scene, application.id, Redacted.value(secret))).toBe(false)
      })
    )

    it.effect(
      "the signing secret is shown on demand, and both are shown after its rotation",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { owner, path, signingSecret } = await prepare(scene)
        const present = Redacted.value(signingSecret)
        await openAs(page, site, owner.email, `${path}/secrets`)
        expect(await page.content()).not.toContain("whsec_")
        await page.getByRole("link", { name: "Signing secret…" }).click()
        expect(await page.content()).not.toContain("whsec_")
        await press(page, "Show the secret")
        expect(await page.getByLabel("Signing secret", { exact: true }).inputValue()).toBe(present)
        await page.getByText("Replace the signing secret…").click()
        await press(page, "Replace the signing secret")
        const fresh = await page.getByLabel("Signing secret", { exact: true }).inputValue()
        expect(fresh).toMatch(/^whsec_/)
        expect(fresh).not.toBe(present)
        expect(await page.getByLabel("Previous secret").inputValue()).toBe(present)
        await page.reload()
        expect(await page.getByLabel("Signing secret", { exact: true }).inputValue()).toBe(fresh)
      })
    )

    it.effect(
      "a test event is sent only to this subscription, and its delivery shows the outcome",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        await site.startWorker()
        const { owner, path, subscription } = await prepare(scene)
        await prepare({ ...scene, name: `${scene.name}-bystander` })
        const before = site.sent.length
        await openAs(page, site, owner.email, `${path}/webhook`)
        await press(page, "Send a test event")
        expect(new URL(page.url()).pathname).toMatch(new RegExp(`^${path}/deliveries/\\d+$`))
        await expect.poll(() => site.sent.length).toBe(before + 1)
        expect(JSON.parse(site.sent[before] ?? "")).toMatchObject({
          aspect_type: "updated",
          object_type: "registration",
          object_id: expect.any(Number),
          updates: { registration_status: "test", reasons: [], comment: expect.stringContaining("test event") },
          subscription_id: subscription.id,
          event_time: expect.any(Number)
        })
        await expect.poll(async () => {
          await page.reload()
          return await page.locator("main").textContent()
        }).toContain("thank you")
        expect(await page.getByRole("row").nth(1).textContent()).toMatch(/delivered \(HTTP 200\)\d+\sms/)
      })
    )

    it.effect(
      "a failing callback gets three attempts; their responses are shown as text, and redelivery works",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        await site.startWorker()
        const { owner, path } = await prepare(scene)
        await openAs(page, site, owner.email, `${path}/webhook`)
        site.switches.callbackStatus = 500
        await press(page, "Send a test event")
        const main = page.locator("main")
        const failed = page.url()
        await expect.poll(async () => {
          await page.goto(failed)
          return await main.textContent()
        }).toContain("Statefailed")
        site.switches.callbackStatus = 200
        expect(await page.getByRole("row").count()).toBe(4)
        expect(await page.getByRole("row").nth(3).textContent()).toContain("<b>broken</b> & sorry")
        await page.goto(`${site.url}${path}`)
        expect(await page.locator("figcaption").textContent()).toContain("Delivered: 0, failed: 3")
        await page.getByText("Show as a table").click()
        expect(await page.getByRole("table").first().getByRole("row").count()).toBe(2)
        await page.getByRole("link", { name: "Deliveries" }).first().click()
        await page.getByRole("link", { name: "Delivered", exact: true }).click()
        expect(await main.textContent()).toContain("There is no such delivery.")
        await page.getByRole("link", { name: "Failed (1)", exact: true }).click()
        await page.getByRole("link", { name: /^Delivery \d+$/ }).click()
        await press(page, "Deliver again")
        expect(page.url()).not.toBe(failed)
        await expect.poll(async () => {
          await page.reload()
          return await main.textContent()
        }).toContain("Statedelivered")
      })
    )

    it.effect(
      "long lists have pages",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { owner, path, subscription } = await prepare(scene)
        await site.run(Story.aDay(
          subscription,
          Array.from({ length: 30 }, (_, index) => ({ hoursAgo: 20 - index / 2, outcomes: ["delivered"] }))
        ))
        await openAs(page, site, owner.email, `${path}/deliveries?state=delivered`)
        const ids = async () => {
          // After a click, the next page may not be complete.
          await page.waitForLoadState()
          return (await page.locator("tbody th a").allTextContents()).map(Number)
        }
        const first = await ids()
        await page.getByRole("link", { name: "Older" }).click()
        const second = await ids()
        expect([first.length, second.length]).toEqual([25, 5])
        expect(Math.max(...second)).toBeLessThan(Math.min(...first))
        await page.getByRole("link", { name: "Newest" }).click()
        expect(await ids()).toEqual(first)
      })
    )

    it.effect(
      "only platform users can open them, and each sees only their own applications",
      inBrowser({}, async (scene) => {
        const { browser, page, site } = scene
        const { path } = await prepare(scene)
        const stranger = await createOwner({ ...scene, name: `${scene.name}-stranger` })
        const athlete = await site.run(Story.createUser("athlete", "curious@example.org"))
        await openAs(page, site, stranger.email, path)
        expect(await heading(scene)).toBe("Page not found")
        for (const rest of ["/signing-secret", "/deliveries", "/deliveries/1"]) {
          const response = await page.goto(`${site.url}${path}${rest}`)
          expect([rest, response?.status()]).toEqual([rest, 404])
        }
        const other = await browser.newPage({ javaScriptEnabled: false })
        await openAs(other, site, athlete.email, home)
        expect(await other.locator("h1").textContent()).toBe("For registration platforms only")
        await other.close()
      })
    )
  })
})

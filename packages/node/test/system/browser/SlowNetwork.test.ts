/** Forms that are sent twice, over a network with a round trip of 160 ms: the browser shows the last answer. */
import { describe, expect, layer } from "@effect/vitest"
import type { Application } from "@startlist/core/Application"
import { Applications } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { Effect, Layer, Option, Redacted } from "effect"
import type { Page } from "playwright-core"
import { isMissing } from "@startlist/test-support/Chromium"
import * as SlowNetwork from "@startlist/test-support/SlowNetwork"
import { openAs, signInHere } from "./support/EveryPage.ts"
import * as Story from "./support/Story.ts"
import * as Testing from "./support/Testing.ts"
import { inBrowser, type Scene } from "./support/Testing.ts"
import { TestSite } from "./support/TestSite.ts"

const home = "/developer/applications"

/** The site behind the slow network, with 80 ms in each direction. */
const slow = Layer.scoped(
  TestSite,
  Effect.gen(function*() {
    const site = yield* TestSite
    const port = yield* SlowNetwork.make(Number(new URL(site.url).port), 80)
    return { ...site, url: `http://127.0.0.1:${port}` }
  })
)

/** Presses a button twice, the second time while the first answer is on its way. */
const pressTwice = async (page: Page, name: string): Promise<void> => {
  const button = page.getByRole("button", { name, exact: true })
  const box = await button.boundingBox()
  if (box === null) throw new Error(`no button ${name}`)
  await button.scrollIntoViewIfNeeded()
  // The page before the answer is idle, too.
  const answered = page.waitForEvent("framenavigated")
  await button.dblclick({ delay: 5, noWaitAfter: true })
  await answered
  await page.waitForLoadState("networkidle")
}

const prepare = (scene: Scene) =>
  scene.site.run(Effect.gen(function*() {
    const owner = yield* Story.createUser("platform", `slow-${scene.name}@example.org`)
    const registered = yield* Story.register(owner, "Race Hub", ["https://racehub.example/callback"])
    return { ...registered, owner, path: `${home}/${registered.application.id}` }
  }))

const ofOwner = ({ site }: Scene, { ownerId }: Pick<Application, "ownerId">) =>
  site.run(
    Effect.flatMap(Applications, ({ list }) => list({ owner: Option.some(ownerId), after: Option.none(), limit: 9 }))
  )

const isAccepted = ({ site }: Scene, id: Application["id"], secret: string) =>
  site.run(
    Effect.flatMap(Applications, ({ authenticate }) =>
      Effect.isSuccess(authenticate({ id, secret: Redacted.make(secret) })))
  )

const heading = (page: Page) => page.locator("h1").textContent()

describe.skipIf(isMissing)("forms that are sent twice, in Chromium (skipped without Chromium)", () => {
  layer(Layer.provideMerge(slow, Testing.layer), { excludeTestServices: true })((it) => {
    for (const javaScript of [false, true]) {
      const way = javaScript ? "with" : "without"

      it.effect(
        `${way} JavaScript: "Register" makes one application, and shows its secret`,
        inBrowser({ javaScript }, async (scene) => {
          const { page, site } = scene
          const { application, owner } = await prepare(scene)
          await openAs(page, site, owner.email, home)
          await page.getByLabel("Name").fill("Second Hub")
          await pressTwice(page, "Register")
          expect(await heading(page)).toBe("Second Hub is registered")
          const [second, ...others] = await ofOwner(scene, application)
          expect(others.map(({ id }) => id)).toEqual([application.id])
          const secret = await page.locator("#client_secret").inputValue()
          expect(second !== undefined && await isAccepted(scene, second.id, secret)).toBe(true)
        })
      )

      it.effect(
        `${way} JavaScript: "Replace the secret" makes one secret, and shows it`,
        inBrowser({ javaScript }, async (scene) => {
          const { page, site } = scene
          const { application, owner, path } = await prepare(scene)
          await openAs(page, site, owner.email, `${path}/secrets`)
          await page.getByText("Replace the secret…").click()
          await pressTwice(page, "Replace the secret")
          const secret = await page.locator("#client_secret").inputValue()
          expect(await isAccepted(scene, application.id, secret)).toBe(true)
          const [present] = await ofOwner(scene, application)
          expect(present?.secrets.map(({ number }) => number)).toEqual([2, 1])
          await page.goto(`${site.url}${path}/secrets`)
          await pressTwice(page, "End secret 1")
          expect(await heading(page)).toBe("Race Hub")
          expect((await ofOwner(scene, application))[0]?.secrets.map(({ number }) => number)).toEqual([2])
        })
      )

      it.effect(
        `${way} JavaScript: a signing secret, a subscription and an application are made and ended once`,
        inBrowser({ javaScript }, async (scene) => {
          const { page, site } = scene
          const { application, owner, path } = await prepare(scene)
          await openAs(page, site, owner.email, `${path}/signing-secret`)
          await page.getByText("Replace the signing secret…").click()
          await pressTwice(page, "Replace the signing secret")
          expect(await page.getByRole("status").first().textContent()).toContain("The signing secret was replaced.")
          const { secrets } = await site.run(Effect.flatMap(Applications, (all) => all.signingSecrets(application.id)))
          expect(secrets.map(({ number }) => number)).toEqual([2, 1])
          expect(await page.locator("#secret-2").inputValue()).toBe(
            secrets[0] === undefined ? "" : Redacted.value(secrets[0].value)
          )

          await page.goto(`${site.url}${path}/webhook`)
          await page.getByText("Create the subscription…").click()
          await page.locator("input[name=callback_url]").fill("https://racehub.example/hooks")
          await page.locator("input[name=verify_token]").fill("token")
          await pressTwice(page, "Create the subscription")
          expect(await heading(page)).toBe("Race Hub")
          const found = await site.run(Effect.flatMap(Subscriptions, (all) => all.findByApplication(application.id)))
          expect(Option.map(found, ({ callbackUrl }) => callbackUrl)).toEqual(
            Option.some("https://racehub.example/hooks")
          )
          await page.getByText("End the subscription…").click()
          await pressTwice(page, "End the subscription")
          expect(await heading(page)).toBe("Race Hub")

          await page.goto(`${site.url}${path}/settings`)

          await page.getByText("Delete the application…").click()
          await page.getByLabel("Type Race Hub to confirm").fill("Race Hub")
          await pressTwice(page, "Delete the application")
          expect(await heading(page)).toBe("Your applications")
          expect(await page.getByRole("status").first().textContent()).toContain("Race Hub is deleted.")
          expect(await ofOwner(scene, application)).toEqual([])
        })
      )

      it.effect(
        `${way} JavaScript: sign-in, "Allow", "Revoke" and a new password`,
        inBrowser({ javaScript }, async (scene) => {
          const { page, site } = scene
          const { application, athlete } = await site.run(Effect.gen(function*() {
            const athlete = yield* Story.createUser("athlete", `slow-athlete-${scene.name}@example.org`)
            const owner = yield* Story.createUser("platform", `slow-owner-${scene.name}@example.org`)
            const { application } = yield* Story.register(owner, `Race ${scene.name}`, [site.app.redirectUri])
            return { application, athlete }
          }))
          await page.goto(Story.authorizeUrl(site, application))
          await page.fill("input[name=email]", athlete.email)
          await page.fill("input[name=password]", Story.password)
          await pressTwice(page, "Sign in")
          await pressTwice(page, "Allow")
          await page.waitForURL(`${site.app.url}/**`)
          const authorized = () => site.run(Effect.flatMap(OAuth, (oauth) => oauth.authorized(athlete.id)))
          expect(await authorized()).toHaveLength(1)
          await page.goto(`${site.url}/account/applications`)
          await page.getByText("Revoke access…").click()
          await pressTwice(page, `Revoke the access of Race ${scene.name}`)
          expect(await page.locator("main").textContent()).toContain(`Race ${scene.name} no longer has access`)
          expect(await authorized()).toEqual([])
          await page.goto(`${site.url}/account/security`)
          await page.locator("input[name=present]").fill(Story.password)
          await page.locator("input[name=password]").fill("another long passphrase")
          await pressTwice(page, "Change password")
          expect(await page.getByRole("status").first().textContent()).toContain("password was changed")
        })
      )
    }

    it.effect(
      "tabs that were opened before sign-in lead on, whichever is used first",
      inBrowser({}, async (scene) => {
        const { page, site } = scene
        const { owner } = await prepare(scene)
        const tabs = [page, await page.context().newPage(), await page.context().newPage()]
        // The tabs are restored together: each gets a session, and the browser has the last one.
        await Promise.all(tabs.map((tab) => tab.goto(`${site.url}${home}`)))
        for (const tab of tabs) {
          await signInHere(tab, owner.email)
          await tab.waitForURL(`${site.url}${home}`)
          expect(await heading(tab)).toBe("Your applications")
        }
      })
    )
  })
})

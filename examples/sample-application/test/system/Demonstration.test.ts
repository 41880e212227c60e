/** The whole demonstration, from the link that `npm run demo` prints to Ctrl-C. */
import axe from "axe-core"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Chromium from "@startlist/test-support/Chromium"
import { patience } from "@startlist/test-support/Patience"
import * as Demo from "./Demo.ts"

describe.skipIf(Chromium.isMissing)("the demonstration, in Chromium", () => {
  let demo: Demo.Demo
  let browser: Browser
  let context: BrowserContext
  let complaints: ReadonlyArray<string>
  /** The page with the user. */
  let page: Page
  /** Another open page, which changes only by itself. */
  let watching: Page

  const press = (name: string | RegExp) => page.getByRole("button", { name }).click()

  const signIn = async (at: Page, role: string) => {
    const { email, password } = demo.account(role)
    await at.locator("input[name=email]").fill(email)
    await at.locator("input[name=password]").fill(password)
    await at.locator("main form button").click()
  }

  const tokens = () => page.locator("#athlete code.secret").allTextContents()

  beforeAll(async () => {
    demo = await Demo.start()
    browser = await Chromium.start()
    context = await browser.newContext()
    context.setDefaultTimeout(patience)
    complaints = Chromium.complaintsOf(context)
    page = await context.newPage()
    watching = await context.newPage()
  })

  afterAll(async () => {
    await browser?.close()
    await demo?.interrupt()
  })

  it("the link opens the sample application, which shows the accounts", async () => {
    await page.goto(demo.link)
    expect(await page.locator("h1").textContent()).toBe("Race Planner")
    expect(await page.locator("aside").textContent()).toContain(demo.account("platform").password)
    await watching.goto(demo.link)
  })

  it("the athlete refuses, and the application says so", async () => {
    await press("Connect as athlete")
    await signIn(page, "athlete")
    await page.locator("button[name=decision][value=deny]").click()
    await page.waitForURL(`${demo.link}**`)
    await page.locator("#notice", { hasText: "You did not allow the access." }).waitFor()
  })

  it("the athlete allows, and the application shows who it is and its tokens, shortened", async () => {
    await press("Connect as athlete")
    await page.locator("button[name=decision][value=allow]").click()
    await page.waitForURL(`${demo.link}**`)
    await page.locator("#athlete", { hasText: "Alice Moreau" }).waitFor()
    const [access, refresh] = await tokens()
    expect(access).toMatch(/^sl_at_[\w-]{4}…[\w-]{4}$/)
    expect(refresh).toMatch(/^sl_rt_[\w-]{4}…[\w-]{4}$/)
    expect(await page.content()).not.toMatch(/sl_[ar]t_[\w-]{20}/)
  })

  it("the athlete's data can be read with the access token", async () => {
    await press("Call GET /api/v1/athlete")
    const answer = await page.locator("#notice pre").textContent()
    expect(JSON.parse(answer ?? "")).toEqual({ id: expect.any(Number), first_name: "Alice", last_name: "Moreau" })
  })

  it("a refresh replaces both tokens", async () => {
    const before = await tokens()
    await page.locator("#athlete").getByRole("button", { name: "Refresh the tokens" }).click()
    await page.locator("#notice").getByText("There are new tokens.").waitFor()
    const after = await tokens()
    expect(after).toHaveLength(2)
    expect(after).not.toContain(before[0])
    expect(after).not.toContain(before[1])
  })

  it("the platform user connects from the same browser, by switching the account", async () => {
    await press("Connect as platform user")
    await page.locator("main form").filter({ has: page.locator("input[name=return_to]") }).getByRole("button").click()
    await signIn(page, "platform")
    await page.locator("button[name=decision][value=allow]").click()
    await page.waitForURL(`${demo.link}**`)
    await page.locator("#platform", { hasText: "Connected with a platform user." }).waitFor()
  })

  it("the application subscribes: its callback answers the challenge", async () => {
    await press("Subscribe")
    await page.locator("#notice", { hasText: "subscribed Race Planner" }).waitFor()
    expect(await page.locator("#webhook").textContent()).toContain("/webhook")
  })

  it("the application has had its signing secret from the start", async () => {
    expect(await page.locator("#webhook .secret").textContent()).toMatch(/^whsec_\S{4}…/)
  })

  it("a changed registration arrives as an event by itself, its signature verified", async () => {
    await press("Accept the document")
    await page.locator("#registration-status", { hasText: "validated" }).waitFor()
    const event = watching.locator("#events li").first()
    await event.waitFor()
    const text = await event.textContent()
    expect(text).toContain("Signature verified.")
    expect(text).toMatch(/registration \d+ has changed/)
    expect(text).toContain("accepted")
  })

  for (const colorScheme of ["light", "dark"] as const) {
    it(`axe finds nothing to complain of, ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme })
      await page.evaluate(axe.source)
      const found: axe.AxeResults = await page.evaluate("axe.run()")
      expect(found.violations.map(({ id, nodes }) => ({ id, html: nodes.map((node) => node.html) }))).toEqual([])
      expect(found.passes.length).toBeGreaterThan(0)
    })
  }

  it("the athlete revokes in the account pages: that event arrives by itself, and the tokens are refused", async () => {
    const account = await context.newPage()
    await account.goto(await page.locator("#athlete a").getAttribute("href") ?? "")
    await account.locator("form[action=\"/logout\"] button").first().click()
    await signIn(account, "athlete")
    await account.locator("main summary").click()
    await account.locator("form[action$=\"/revoke\"] button").click()
    await watching.locator("#events li").nth(1).waitFor()
    expect(await watching.locator("#events li").first().textContent()).toMatch(
      /Signature verified\..*athlete \d+ has revoked the access/
    )
    const farewell = watching.locator("#athlete .notice")
    await farewell.waitFor()
    expect(await farewell.textContent()).toContain("tried once more and refused with 401")
    await account.getByText("No application has access to your account.").waitFor()
    await account.close()
  })

  it("the application gives the platform user's access back, and these tokens are refused, too", async () => {
    await page.goto(demo.link)
    await page.locator("#platform").getByRole("button", { name: /^Revoke/ }).click()
    const farewell = page.locator("#platform .notice")
    expect(await farewell.textContent()).toContain("tried once more and refused with 401")
  })

  it("no page complained on the console, and no content security policy was violated", () => {
    expect(complaints).toEqual([])
  })

  it("Ctrl-C ends it within seconds", async () => {
    const asked = Date.now()
    expect(await demo.interrupt()).toBe(0)
    expect(Date.now() - asked).toBeLessThan(10_000)
    await expect(fetch(demo.link)).rejects.toThrow()
  })
})

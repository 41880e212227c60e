/** All pages of the service, and how to open them. */
import type { Browser, Page } from "playwright-core"
import { type Person, person, type Templates } from "@startlist/test-support/Chromium"
import { authorizeUrl, password, type Story } from "./Story.ts"
import type { HttpConfig } from "./TestSite.ts"

/** Fills in and submits the login form. */
export const signInHere = async (page: Page, email: string, secret = password): Promise<void> => {
  await page.fill("input[name=email]", email)
  await page.fill("input[name=password]", secret)
  await page.click("main button")
}

/** Opens an address and signs in. */
export const openAs = async (
  page: Page,
  site: Pick<HttpConfig, "url">,
  email: string,
  path: string,
  secret = password
): Promise<void> => {
  await open(page, site, path)
  await signInHere(page, email, secret)
}

/** Opens an address or a path of the site. */
const open = (page: Page, site: Pick<HttpConfig, "url">, path: string) =>
  page.goto(path.startsWith("/") ? `${site.url}${path}` : path)

/** The button with this name. */
export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click()

/** The user of the browser. */
export type Role = "stranger" | "athlete" | "platform"

export interface Sight {
  /** Name of the test and of the screenshot. */
  readonly name: string
  readonly by: Role
  readonly visit: (page: Page, site: HttpConfig, story: Story) => Promise<unknown>
}

/** The people of a story, each with a browser window. Users are signed in. */
export const cast = async (
  browser: Browser,
  look: Templates,
  site: HttpConfig,
  { athlete, platform }: Story
): Promise<Readonly<Record<Role, Person>>> => {
  const stranger = await person(browser, look)
  const [one, other] = [await person(browser, look), await person(browser, look)]
  await openAs(one.page, site, athlete.email, "/login")
  await openAs(other.page, site, platform.email, "/login")
  return { stranger, athlete: one, platform: other }
}

const home = "/developer/applications"

const sight = (by: Role, name: string, visit: Sight["visit"]): Sight => ({ by, name, visit })

export const everyPage: ReadonlyArray<Sight> = [
  sight("stranger", "welcome", (page, site) => open(page, site, "/")),
  sight("stranger", "login", async (page, site) => {
    await page.goto(`${site.url}/login`)
  }),
  sight("stranger", "login-wrong", async (page, site, { athlete }) => {
    await page.goto(`${site.url}/login`)
    await signInHere(page, athlete.email, "wrong")
  }),
  sight(
    "athlete",
    "consent",
    (page, site, { hub }) =>
      open(page, site, authorizeUrl(site, hub.application, { redirect_uri: "https://racehub.example/oauth/callback" }))
  ),
  sight(
    "athlete",
    "consent-role",
    (page, site, { hub }) => open(page, site, authorizeUrl(site, hub.application, { role: "organizer" }))
  ),
  sight("athlete", "account", async (page, site) => {
    await open(page, site, "/account/applications")
  }),
  sight("athlete", "account-revoke", async (page, site) => {
    await open(page, site, "/account/applications")
    await page.locator("summary").first().click()
  }),
  sight("athlete", "security", (page, site) => open(page, site, "/account/security")),
  sight("athlete", "security-wrong", async (page, site) => {
    await open(page, site, "/account/security")
    await page.fill("input[name=present]", "wrong")
    await page.fill("input[name=password]", "another password")
    await page.locator("form[action$='/password'] button").click()
  }),
  sight("stranger", "reset-refused", (page, site) => open(page, site, "/reset-password?token=old")),
  sight("platform", "account-empty", (page, site) => open(page, site, "/account/applications")),
  sight("platform", "developer", (page, site) => open(page, site, home)),
  sight("platform", "developer-refused", async (page, site) => {
    await open(page, site, home)
    await page.fill("input[name=name]", "Finish Line")
    await page.fill("textarea", "http://finishline.example/callback")
    await page.locator("main form button").click()
  }),
  sight("platform", "application", async (page, site, { hub }) => {
    await open(page, site, `${home}/${hub.application.id}`)
    await page.locator("summary").first().click()
  }),
  ...(["webhook", "settings", "secrets"] as const).map((section) =>
    sight(
      "platform",
      `application-${section}`,
      (page, site, { hub }) => open(page, site, `${home}/${hub.application.id}/${section}`)
    )
  ),
  sight("platform", "application-new", async (page, site) => {
    await open(page, site, home)
    await page.fill("input[name=name]", "Finish Line")
    await page.fill("textarea", "https://finishline.example/callback")
    await page.locator("main form button").click()
  }),
  sight(
    "platform",
    "application-no-webhook",
    (page, site, { club }) => open(page, site, `${home}/${club.application.id}/webhook`)
  ),
  sight("platform", "application-secret", async (page, site, { club }) => {
    await open(page, site, `${home}/${club.application.id}/secrets`)
    await page.locator("details:has(form[action$='/secret']) summary").click()
    await page.locator("form[action$='/secret'] button.danger").click()
  }),
  sight("platform", "signing-secret", async (page, site, { hub }) => {
    await open(page, site, `${home}/${hub.application.id}/signing-secret`)
  }),
  sight("platform", "signing-secret-shown", async (page, site, { hub }) => {
    await open(page, site, `${home}/${hub.application.id}/signing-secret`)
    await page.locator("button[value=reveal]").click()
  }),
  sight(
    "platform",
    "delivery-list",
    (page, site, { hub }) => open(page, site, `${home}/${hub.application.id}/deliveries`)
  ),
  sight("platform", "delivery-list-search", async (page, site, { hub }) => {
    await open(page, site, `${home}/${hub.application.id}/deliveries`)
    await page.locator("summary").first().click()
  }),
  sight(
    "platform",
    "delivery-list-failed",
    (page, site, { hub }) => open(page, site, `${home}/${hub.application.id}/deliveries?state=exhausted`)
  ),
  sight("platform", "delivery", async (page, site, { hub }) => {
    await open(page, site, `${home}/${hub.application.id}/deliveries?state=exhausted`)
    await page.locator("tbody a").first().click()
  }),
  sight("stranger", "error-not-found", async (page, site) => {
    await page.goto(`${site.url}/nowhere`)
  }),
  sight("stranger", "error-unknown-application", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { client_id: "999999" }))
  }),
  sight("stranger", "error-no-redirect", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { redirect_uri: "" }))
  }),
  sight("stranger", "error-wrong-redirect", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { redirect_uri: "https://elsewhere.example/" }))
  }),
  sight("athlete", "error-not-platform", (page, site) => open(page, site, home)),
  sight("stranger", "error-unavailable", async (page, site, { hub }) => {
    site.switches.storeIsDown = true
    await page.goto(authorizeUrl(site, hub.application))
    site.switches.storeIsDown = false
  }),
  sight("athlete", "error-expired-form", async (page, site, { hub, platform }) => {
    await open(page, site, authorizeUrl(site, hub.application))
    const other = await page.context().newPage()
    await other.goto(`${site.url}/account/applications`)
    await other.locator("header button").click()
    // A form of an earlier session is accepted from the same user only.
    await signInHere(other, platform.email)
    // Chromium sometimes never closes a window that is loading a page.
    await other.locator("header button").waitFor()
    await other.close()
    // Chromium may not render a hidden page, and measuring it would wait forever.
    await page.bringToFront()
    await page.locator("button[value=allow]").click()
  })
]

/** Every page that the service has, and how one gets to see it. */
import type { Page } from "playwright-core"
import { authorizeUrl, password, type Story } from "./Story.ts"
import type { Site } from "./TestSite.ts"

/** Fills in the form of the login page that the browser shows. */
export const signInHere = async (page: Page, email: string, secret = password): Promise<void> => {
  await page.fill("input[name=email]", email)
  await page.fill("input[name=password]", secret)
  await page.click("main button")
}

/** Signs in on the way to an address. */
export const openAs = async (page: Page, site: Pick<Site, "url">, email: string, path: string): Promise<void> => {
  await page.goto(path.startsWith("/") ? `${site.url}${path}` : path)
  await signInHere(page, email)
}

/** The button with this name. */
export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole("button", { name, exact: true }).click()

export interface Sight {
  /** For the test and for the picture. */
  readonly name: string
  readonly visit: (page: Page, site: Site, story: Story) => Promise<void>
}

const home = "/developer/applications"

const sight = (name: string, visit: Sight["visit"]): Sight => ({ name, visit })

export const everyPage: ReadonlyArray<Sight> = [
  sight("login", async (page, site) => {
    await page.goto(`${site.url}/login`)
  }),
  sight("login-wrong", async (page, site, { athlete }) => {
    await page.goto(`${site.url}/login`)
    await signInHere(page, athlete.email, "wrong")
  }),
  sight("consent", (page, site, { athlete, hub }) =>
    openAs(
      page,
      site,
      athlete.email,
      authorizeUrl(site, hub.application, { redirect_uri: "https://racehub.example/oauth/callback" })
    )),
  sight(
    "consent-role",
    (page, site, { athlete, hub }) =>
      openAs(page, site, athlete.email, authorizeUrl(site, hub.application, { role: "organizer" }))
  ),
  sight("account", async (page, site, { athlete }) => {
    await openAs(page, site, athlete.email, "/account/applications")
  }),
  sight("account-revoke", async (page, site, { athlete }) => {
    await openAs(page, site, athlete.email, "/account/applications")
    await page.locator("summary").first().click()
  }),
  sight("account-empty", (page, site, { platform }) => openAs(page, site, platform.email, "/account/applications")),
  sight("developer", (page, site, { platform }) => openAs(page, site, platform.email, home)),
  sight("developer-refused", async (page, site, { platform }) => {
    await openAs(page, site, platform.email, home)
    await page.fill("input[name=name]", "Finish Line")
    await page.fill("textarea", "http://finishline.example/callback")
    await page.locator("main form button").click()
  }),
  sight(
    "application",
    (page, site, { hub, platform }) => openAs(page, site, platform.email, `${home}/${hub.application.id}`)
  ),
  sight("application-new", async (page, site, { platform }) => {
    await openAs(page, site, platform.email, home)
    await page.fill("input[name=name]", "Finish Line")
    await page.fill("textarea", "https://finishline.example/callback")
    await page.locator("main form button").click()
  }),
  sight(
    "application-no-webhook",
    (page, site, { club, platform }) => openAs(page, site, platform.email, `${home}/${club.application.id}`)
  ),
  sight("application-secret", async (page, site, { club, platform }) => {
    await openAs(page, site, platform.email, `${home}/${club.application.id}`)
    await page.locator("summary").last().click()
    await page.locator("button.danger").click()
  }),
  sight("signing-secret", async (page, site, { hub, platform }) => {
    await openAs(page, site, platform.email, `${home}/${hub.application.id}/signing-secret`)
  }),
  sight("signing-secret-shown", async (page, site, { hub, platform }) => {
    await openAs(page, site, platform.email, `${home}/${hub.application.id}/signing-secret`)
    await page.locator("button[value=reveal]").click()
  }),
  sight(
    "delivery-list",
    (page, site, { hub, platform }) => openAs(page, site, platform.email, `${home}/${hub.application.id}/deliveries`)
  ),
  sight(
    "delivery-list-failed",
    (page, site, { hub, platform }) =>
      openAs(page, site, platform.email, `${home}/${hub.application.id}/deliveries?state=exhausted`)
  ),
  sight("delivery", async (page, site, { hub, platform }) => {
    await openAs(page, site, platform.email, `${home}/${hub.application.id}/deliveries?state=exhausted`)
    await page.locator("tbody a").first().click()
  }),
  sight("error-not-found", async (page, site) => {
    await page.goto(`${site.url}/nowhere`)
  }),
  sight("error-unknown-application", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { client_id: "999999" }))
  }),
  sight("error-no-redirect", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { redirect_uri: "" }))
  }),
  sight("error-wrong-redirect", async (page, site, { hub }) => {
    await page.goto(authorizeUrl(site, hub.application, { redirect_uri: "https://elsewhere.example/" }))
  }),
  sight("error-not-platform", (page, site, { athlete }) => openAs(page, site, athlete.email, home)),
  sight("error-unavailable", async (page, site, { hub }) => {
    site.switches.storeIsDown = true
    await page.goto(authorizeUrl(site, hub.application))
    site.switches.storeIsDown = false
  }),
  sight("error-expired-form", async (page, site, { athlete, hub }) => {
    await openAs(page, site, athlete.email, authorizeUrl(site, hub.application))
    const other = await page.context().newPage()
    await other.goto(`${site.url}/account/applications`)
    await other.locator("header button").click()
    await signInHere(other, athlete.email)
    await other.close()
    await page.locator("button[value=allow]").click()
  })
]

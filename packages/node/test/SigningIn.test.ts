/** Password guesses on the running service: their limits, their effect on users, and their traces. */
import { expect, layer } from "@effect/vitest"
import { Browser, signIn, theForm } from "@startlist/test-support/Browser"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on, type Service } from "@startlist/test-support/InProcessService"
import { createUser, operate, type Person } from "@startlist/test-support/Operator"

const openLogin = (service: Service, browser: Browser) => browser.open(`${service.url}/login`)

/** A browser that has signed in to this account and signed out again. */
const knownBrowser = async (service: Service, { email, password }: Person): Promise<Browser> => {
  const browser = new Browser()
  const page = await signIn(browser, await openLogin(service, browser), email, password)
  expect(page.status).toBe(200)
  await browser.submit(theForm(page, ({ action }) => action.endsWith("/logout")))
  return browser
}

/** Makes guesses, each in its own browser, two at the same time: more are refused. Returns the statuses of the responses. */
const guess = async (service: Service, email: string, count: number): Promise<ReadonlyArray<number>> => {
  const statuses: Array<number> = []
  const once = async () => {
    const browser = new Browser()
    const { status } = await signIn(browser, await openLogin(service, browser), email, "a wrong guess")
    statuses.push(status)
  }
  for (let made = 0; made < count; made += 2) await Promise.all([once(), once()])
  return statuses
}

layer(InProcessService.layer())("signing in", (it) => {
  it.effect(
    "many guesses get no more attempts than the limit, and does not lock out a browser that the account knows",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      const known = await knownBrowser(service, user)
      const statuses = await guess(service, user.email, 40)
      const count = (wanted: number) => statuses.filter((status) => status === wanted).length
      expect([count(403), count(429)]).toEqual([10, 30])

      const stranger = new Browser()
      const refused = await signIn(stranger, await openLogin(service, stranger), user.email, user.password)
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)])

      const back = await signIn(known, await openLogin(service, known), user.email, user.password)
      expect([back.status, new URL(back.url).pathname]).toEqual([200, "/account/applications"])
    })
  )

  it.effect(
    "a password typed in place of the address is in no table, and not in the audit",
    on(async (service) => {
      const failures = async () => {
        const { body } = await operate(service, "GET", "/audit?limit=100")
        return body.entries.filter(({ action }: { action: string }) => action === "login_failed")
      }
      const before = await failures()
      const typed = "hunter2-in-the-wrong-field"
      for (const email of [typed, `${typed}@example.test`]) {
        const browser = new Browser()
        expect((await signIn(browser, await openLogin(service, browser), email, "wrong password")).status).toBe(403)
      }
      const after = await failures()
      expect(after).toHaveLength(before.length + 2)
      expect(JSON.stringify(after)).not.toContain(typed)
      const { admin } = service.database
      const tables = await admin.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
      expect(tables.rowCount).toBeGreaterThan(5)
      for (const { tablename } of tables.rows) {
        const found = await admin.query(`SELECT 1 FROM ${tablename} t WHERE t::text LIKE $1`, [`%${typed}%`])
        expect([tablename, found.rowCount]).toEqual([tablename, 0])
      }
    })
  )
})

layer(InProcessService.layer({ SIGN_IN_FAILURES: "4" }))(
  "signing in, with a setting",
  (it) => {
    it.effect(
      "SIGN_IN_FAILURES is the number of wrong passwords that are checked",
      on(async (service) => {
        const user = await createUser(service, "athlete")
        const statuses = await guess(service, user.email, 10)
        expect(statuses.filter((status) => status === 403)).toHaveLength(4)
      })
    )
  }
)

/** Users change their password and end their sessions. An operator's link sets a new password once. */
import { describe, expect, it, layer } from "@effect/vitest"
import { Browser, formsOf, type Page, signIn, theForm } from "@startlist/test-support/Browser"
import { command, commandJson } from "@startlist/test-support/Commands"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { on, type Service } from "@startlist/test-support/InProcessService"
import { createUser, operate, type Person } from "@startlist/test-support/Operator"
import { Effect } from "effect"
import { isAcceptable } from "../src/accounts/LocalAccounts.ts"

const security = (service: Service) => `${service.url}/account/security`

/** A signed-in browser on the page with password and sessions. */
const signedIn = async (service: Service, { email, password }: Pick<Person, "email" | "password">) => {
  const browser = new Browser()
  await signIn(browser, await browser.open(`${service.url}/.well-known/change-password`), email, password)
  return { browser, page: await browser.open(security(service)) }
}

const changeForm = (page: Page) => theForm(page, ({ action }) => action.endsWith("/security/password"))

const isSignedIn = async (service: Service, browser: Browser): Promise<boolean> =>
  (await browser.open(security(service))).html.includes("/security/password")

const canSignIn = async (service: Service, email: string, password: string): Promise<boolean> => {
  const { browser } = await signedIn(service, { email, password })
  return await isSignedIn(service, browser)
}

const actions = async (service: Service, user: Person): Promise<ReadonlyArray<string>> =>
  (await operate(service, "GET", `/audit?user_id=${user.id}`)).body.entries.map(({ action }: { action: string }) =>
    action
  )

layer(InProcessService.layer())("passwords", (it) => {
  it.effect(
    "a password change ends every other session, and the old password is refused",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      const { browser, page } = await signedIn(service, user)
      const other = await signedIn(service, user)
      const next = "a better horse, by far"
      const change = (shown: Page, present: string, password: string) =>
        browser.submit(changeForm(shown), { present, password })
      const wrong = await change(page, "not the password", next)
      expect([wrong.status, wrong.html.includes("The current password is incorrect.")]).toEqual([403, true])
      for (const weak of ["short", "password1", "x".repeat(1001)]) {
        expect((await change(page, user.password, weak)).status).toBe(422)
      }
      expect((await change(page, user.password, "")).status).toBe(422)
      expect(await canSignIn(service, user.email, user.password)).toBe(true)

      const changed = await change(page, user.password, next)
      expect([changed.status, changed.html.includes("Your password was changed.")]).toEqual([200, true])
      expect(await isSignedIn(service, browser)).toBe(true)
      expect(await isSignedIn(service, other.browser)).toBe(false)
      expect(await canSignIn(service, user.email, user.password)).toBe(false)
      expect(await canSignIn(service, user.email, next)).toBe(true)
      expect(await actions(service, user)).toContain("password_changed")
    })
  )

  it.effect(
    "guesses at the present password are limited like those at sign-in",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      const { browser, page } = await signedIn(service, user)
      const statuses: Array<number> = []
      while (statuses.length < 50 && statuses.at(-1) !== 429) {
        statuses.push(
          (await browser.submit(changeForm(page), { present: "a guess", password: "a new password" })).status
        )
      }
      expect([statuses.length < 50, statuses.at(-1)]).toEqual([true, 429])
      const right = await browser.submit(changeForm(page), { present: user.password, password: "a new password" })
      expect([right.status, right.headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)])
    })
  )

  it.effect(
    "a user ends one other session or all; a form of an ended session changes nothing and says so",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      const stranger = await signedIn(service, await createUser(service, "athlete"))
      const [first, second, third] = [
        await signedIn(service, user),
        await signedIn(service, user),
        await signedIn(service, user)
      ]
      const page = await third.browser.open(security(service))
      const ends = (shown: Page) => formsOf(shown).filter(({ action }) => action.endsWith("/sessions"))
      // Newest first: the sessions of `second` and `first`, and then all others.
      const [one] = ends(page)
      if (one === undefined) throw new Error("no session can be ended")
      expect((await third.browser.submit(one)).html).toContain("The session was ended.")
      expect(await Promise.all([first, second, third].map(({ browser }) => isSignedIn(service, browser))))
        .toEqual([true, false, true])

      const late = await second.browser.submit(changeForm(second.page), {
        present: user.password,
        password: "a new password"
      })
      expect([late.status, late.html.includes("Nothing was changed.")]).toEqual([403, true])
      expect(late.html).toContain("/login?return_to=%2Faccount%2Fsecurity")
      expect(await canSignIn(service, user.email, user.password)).toBe(true)

      const all = theForm(page, ({ fields }) => fields.get("session") === "others")
      await third.browser.submit(all)
      expect(await isSignedIn(service, first.browser)).toBe(false)
      expect(await isSignedIn(service, third.browser)).toBe(true)
      expect(await isSignedIn(service, stranger.browser)).toBe(true)
      // The identifier of a session of somebody else ends nothing.
      const foreign = changeForm(stranger.page)
      await stranger.browser.submit(
        { ...foreign, action: `${security(service)}/sessions` },
        { session: one.fields.get("session") ?? "" }
      )
      expect(await isSignedIn(service, third.browser)).toBe(true)
    })
  )

  it.effect(
    "a reset link works once; a password change, disabling the user and time make it invalid",
    on(async (service) => {
      const user = await createUser(service, "athlete")
      const before = await signedIn(service, user)
      const link = async (): Promise<string> =>
        (await commandJson(service, "user", "reset-password", String(user.id))).url
      const [used, unused] = [await link(), await link()]
      expect(used).toMatch(new RegExp(`^${service.url}/reset-password\\?token=sl_pr_${user.id}_`))
      const browser = new Browser()
      const page = await browser.open(used)
      expect(page.html).toContain(`Choose a new password for ${user.email}.`)
      const weak = await browser.submit(theForm(page), { password: "password1" })
      expect([weak.status, weak.html.includes("must not be a very common one")]).toEqual([422, true])
      const done = await browser.submit(theForm(page), { password: "chosen by myself" })
      expect([done.status, done.html.includes("Your password was changed")]).toEqual([200, true])
      expect(await isSignedIn(service, before.browser)).toBe(false)
      expect(await canSignIn(service, user.email, "chosen by myself")).toBe(true)

      expect((await browser.submit(theForm(page), { password: "chosen by another" })).status).toBe(410)
      for (const dead of [used, unused, `${used}x`, used.replace(`_${user.id}_`, `_${user.id + 1}_`)]) {
        expect((await browser.open(dead)).status).toBe(410)
      }
      const last = await link()
      await operate(service, "POST", `/users/${user.id}/disable`)
      expect((await browser.open(last)).status).toBe(410)
      expect(await actions(service, user)).toContain("password_reset")
      expect((await command(service, "user", "reset-password", "999999")).stderr).toBe("there is no user 999999")
    })
  )

  it.effect(
    "an operator gives nobody a common password",
    on(async (service) => {
      const user = { role: "athlete", email: "common@example.test", password: "Password1" }
      const rule = "must be text of 8 to 1000 characters, and not one of the most common passwords"
      const { body, status } = await operate(service, "POST", "/users", user)
      expect([status, body.errors]).toEqual([
        400,
        [{ resource: "Request", field: "password", code: "invalid", message: rule }]
      ])
      const options = Object.entries(user).flatMap(([name, value]) => [`--${name}`, value])
      const { code, stderr } = await command(service, "user", "create", ...options)
      expect([code, stderr]).toEqual([1, expect.stringContaining(`password ${rule}`)])
      expect((await operate(service, "GET", "/users?email=common@example.test")).body.users).toEqual([])
    })
  )
})

describe("a new password", () => {
  for (
    const password of ["correct horse", "pass word", "übermäßig", "12 kilometres", "🏃🏃🏃🏃🏃🏃🏃🏃", "x".repeat(1000)]
  ) {
    it(`may be ${password.slice(0, 30)}`, () => expect(Effect.runPromise(isAcceptable(password))).resolves.toBe(true))
  }
  const short = ["", "secret", "1234567", "e\u0301".repeat(7), "🏃🏃🏃🏃🏃🏃🏃"]
  const common = ["password", "Password", "12345678", "qwertyuiop", "iloveyou", "PASSW0RD", "trustno1", "football1"]
  for (const password of [...short, ...common, "x".repeat(1001)]) {
    it(`may not be ${password.slice(0, 30)}`, () =>
      expect(Effect.runPromise(isAcceptable(password))).resolves.toBe(false))
  }
})

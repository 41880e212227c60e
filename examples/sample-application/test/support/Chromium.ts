/** The system's Chromium, and what its pages complain of. */
import { existsSync } from "node:fs"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"

const executablePath = "/usr/bin/chromium"

/** Without a browser, tests that need one are skipped by name. */
export const isThere = existsSync(executablePath)

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync"
    ]
  })

/** Errors on the console, exceptions of scripts, and violations of content security policies, of all pages to come. */
export const watch = (context: BrowserContext): ReadonlyArray<string> => {
  const complaints: Array<string> = []
  const follow = (page: Page) => {
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(`${page.url()}: ${message.text()}`)
    })
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`))
  }
  context.on("page", follow)
  return complaints
}

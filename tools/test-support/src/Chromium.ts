/** A real browser without a screen, and the errors that it reports. */
import { Effect, type Scope } from "effect"
import { existsSync } from "node:fs"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import { patience } from "./Patience.ts"

const known = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe"
]

/** Path of the browser: `CHROMIUM`, or the one of this machine. */
export const executablePath: string | undefined = known.find((path) => path !== undefined && existsSync(path))

/** Whether browser tests are skipped. The report names each of them. */
export const isMissing = executablePath === undefined

export const start = (): Promise<Browser> =>
  chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
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

/** A browser. It is closed with the scope. */
export const launch: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(start),
  (browser) => Effect.promise(() => browser.close())
)

export interface Templates {
  readonly locale?: "en-GB" | "fr-FR"
  readonly dark?: boolean
  readonly phone?: boolean
  /** Whether JavaScript runs. Only some checks need it, and no page. */
  readonly javaScript?: boolean
}

/** A person at a browser with their own cookies. */
export interface Person {
  readonly context: BrowserContext
  readonly page: Page
  /** All errors of the browser: console errors, violations of the CSP, failed loads. */
  readonly complaints: ReadonlyArray<string>
}

/** A status such as 403 is an error only for a style sheet or picture. Tests check the status of pages themselves. */
const isAnswer = (text: string, url: string): boolean =>
  /the server responded with a status of (?:4\d\d|503)/.test(text) && !url.includes("/assets/")

const listen = (page: Page, complaints: Array<string>): void => {
  page.on("console", (message) => {
    const { url } = message.location()
    if (message.type() === "error" && !isAnswer(message.text(), url)) complaints.push(`${message.text()} (${url})`)
  })
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? ""
    if (reason !== "net::ERR_ABORTED") complaints.push(`${request.url()}: ${reason}`)
  })
}

/** Collects the errors of all pages that the context opens from now on. */
export const complaintsOf = (context: BrowserContext): ReadonlyArray<string> => {
  const complaints: Array<string> = []
  context.on("page", (page) => listen(page, complaints))
  return complaints
}

/** A new person with one open window. */
export const person = async (browser: Browser, look: Templates = {}): Promise<Person> => {
  const context = await browser.newContext({
    locale: look.locale ?? "en-GB",
    // Colours are measured without waiting for transitions.
    reducedMotion: "reduce",
    colorScheme: look.dark === true ? "dark" : "light",
    javaScriptEnabled: look.javaScript ?? false,
    viewport: look.phone === true ? { width: 390, height: 780 } : { width: 1200, height: 800 },
    deviceScaleFactor: 1
  })
  context.setDefaultTimeout(patience)
  const complaints = complaintsOf(context)
  return { context, page: await context.newPage(), complaints }
}

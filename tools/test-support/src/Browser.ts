/**
 * A simple browser without JavaScript. It stores cookies, follows redirects, fills in forms and presses one button.
 *
 * It has no code for any page of the service, so each page that it can use works without JavaScript.
 */
import { CookieJar } from "tough-cookie"

export interface Form {
  readonly action: string
  readonly method: string
  /** Hidden and preset fields. */
  readonly fields: ReadonlyMap<string, string>
  /** Named submit buttons: name and value. */
  readonly buttons: ReadonlyArray<readonly [name: string, value: string]>
  readonly html: string
}

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

const decode = (text: string): string =>
  text
    .replaceAll(/&#x([0-9a-f]+);/gi, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

const attribute = (tag: string, name: string): string | undefined => {
  const match = new RegExp(`\\s${name}(?:="([^"]*)"|(?=[\\s/>]))`, "i").exec(tag)
  return match === null ? undefined : decode(match[1] ?? "")
}

/** All forms of a page. */
export const formsOf = (page: Page): ReadonlyArray<Form> =>
  [...page.html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/gi)].map(([html]) => {
    const opening = /^<form\b[^>]*>/i.exec(html)?.[0] ?? ""
    const fields = new Map<string, string>()
    for (const [tag] of html.matchAll(/<input\b(?:[^>"]|"[^"]*")*>/gi)) {
      const name = attribute(tag, "name")
      const type = attribute(tag, "type")
      const isSent = type !== "submit" && (type !== "checkbox" || attribute(tag, "checked") !== undefined)
      if (name !== undefined && isSent) fields.set(name, attribute(tag, "value") ?? "")
    }
    const buttons = [...html.matchAll(/<(?:button|input)\b(?:[^>"]|"[^"]*")*>/gi)].flatMap(([tag]) => {
      const name = attribute(tag, "name")
      const submits = tag.startsWith("<button") || attribute(tag, "type") === "submit"
      return submits && name !== undefined ? [[name, attribute(tag, "value") ?? ""] as const] : []
    })
    const action = new URL(attribute(opening, "action") ?? page.url, page.url).href
    return { action, method: (attribute(opening, "method") ?? "get").toUpperCase(), fields, buttons, html }
  })

export class Browser {
  readonly jar = new CookieJar()
  readonly headers: Readonly<Record<string, string>>

  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.headers = headers
  }

  /** Sends one request and does not follow redirects. */
  async request(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = await this.jar.getCookieString(url)
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { ...this.headers, ...init.headers, ...(cookie === "" ? {} : { cookie }) }
    })
    for (const line of response.headers.getSetCookie()) await this.jar.setCookie(line, url)
    return { url, status: response.status, headers: response.headers, html: await response.text() }
  }

  /** Follows redirects on the same origin. A redirect to another origin is returned, with its `location`. */
  private async follow(page: Page): Promise<Page> {
    let current = page
    for (let hops = 0; hops < 10; hops++) {
      const location = current.headers.get("location")
      if (location === null) return current
      const next = new URL(location, current.url)
      if (next.origin !== new URL(current.url).origin) return current
      current = await this.request(next.href)
    }
    throw new Error(`too many redirects, at last to ${current.url}`)
  }

  async open(url: string): Promise<Page> {
    return this.follow(await this.request(url))
  }

  /** Sends a form with these inputs and this button. */
  async submit(form: Form, inputs: Readonly<Record<string, string>> = {}, button?: readonly [string, string]) {
    const body = new URLSearchParams([
      ...Object.entries({ ...Object.fromEntries(form.fields), ...inputs }),
      ...(button === undefined ? [] : [[...button] as [string, string]])
    ])
    return this.follow(await this.request(form.action, { method: form.method, body }))
  }
}

/** The only form of a page that satisfies a condition. */
export const theForm = (page: Page, condition: (form: Form) => boolean = () => true): Form => {
  const found = formsOf(page).filter(condition)
  const [form] = found
  if (form === undefined || found.length > 1) {
    throw new Error(`${found.length} such forms at ${page.url} (${page.status}):\n${page.html}`)
  }
  return form
}

/** Signs in with the form of the page. */
export const signIn = (browser: Browser, page: Page, email: string, password: string): Promise<Page> =>
  browser.submit(theForm(page, ({ fields }) => fields.has("password")), { email, password })

/** A browser for tests, which stores cookies and fills in forms. */
import type { Http } from "@startlist/http"
import { parseSetCookie, stringifyCookie } from "cookie"
import { Effect } from "effect"
import { Service } from "./Service.ts"

export type Fields = Readonly<Record<string, string>>

export interface Form {
  readonly action: string
  readonly hidden: Fields
}

/** The forms of a page with their hidden fields. */
export const formsOf = (response: Http.Response): ReadonlyArray<Form> =>
  [...String(response.body).matchAll(/<form [^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map((
    [, action, content]
  ) => ({
    action: unescape(action),
    hidden: Object.fromEntries(
      [...(content ?? "").matchAll(/<input type="hidden" name="([^"]*)" value(?:="([^"]*)")?/g)]
        .map(([, name, value]) => [unescape(name), unescape(value)])
    )
  }))

/** The form that goes to the path `action`. */
export const formTo = (action: string, response: Http.Response): Form => {
  const form = formsOf(response).find((form) => form.action.split("?", 1)[0] === action)
  if (form === undefined) throw new Error(`no form to ${action} in: ${response.status} ${String(response.body)}`)
  return form
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: "\"", "#39": "'" }

const unescape = (text = ""): string => text.replaceAll(/&([^;]+);/g, (all, name: string) => entities[name] ?? all)

export const urlencoded = (fields: Fields): string => new URLSearchParams(fields).toString()

/** The value that a browser submits for a field: each line break is CRLF. */
const submitted = (value: string): string => value.replaceAll(/\r\n?|\n/g, "\r\n")

/** A browser with its own cookies. */
export const make = Effect.map(Service, ({ send }) => {
  const cookies = new Map<string, string>()

  const request = (method: string, target: string, sent: Parameters<typeof send>[2] = {}) =>
    Effect.tap(
      send(method, target, {
        ...sent,
        headers: { cookie: stringifyCookie(Object.fromEntries(cookies)), ...sent.headers }
      }),
      (response) => {
        for (const header of [response.headers["set-cookie"] ?? []].flat()) {
          const { maxAge, name, value } = parseSetCookie(header)
          if (maxAge === 0) cookies.delete(name)
          else cookies.set(name, value ?? "")
        }
      }
    )

  const get = (target: string, headers: Http.Request["headers"] = {}) => request("GET", target, { headers })

  const post = (target: string, fields: Fields, headers: Http.Request["headers"] = {}) =>
    request("POST", target, {
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: urlencoded(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, submitted(value)])))
    })

  const signIn = (email: string, password = `password of ${email}`, returnTo = "/account/applications") =>
    Effect.gen(function*() {
      const page = yield* get(`/login?${urlencoded({ return_to: returnTo })}`)
      return yield* post("/login", { ...formTo("/login", page).hidden, email, password })
    })

  return { cookies, get, post, signIn }
})

export type Browser = Effect.Effect.Success<typeof make>

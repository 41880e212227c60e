/** Good requests to everything that the service serves: its operations, and the forms of its pages. */
import { Effect } from "effect"
import { formsOf } from "@startlist/test-support/Browser"
import type { MeasuredService } from "./MeasuredService.ts"
import { described, formType, type Operation, routed } from "./Operations.ts"
import type { Pairs, Sent, Values } from "./Requests.ts"
import { known } from "./Samples.ts"
import type { World } from "./World.ts"

export interface Base {
  /** Method and path, as in the documentation. */
  readonly name: string
  readonly request: Sent
}

const isPage = (path: string): boolean => !/^\/(?:api|operator)\/|^\/oauth\/(?!authorize)/.test(path)

const credentials = (path: string): ReadonlyArray<Pairs[number]> =>
  path.startsWith("/api/v1/athlete")
    ? [["Authorization", "Bearer {{access}}"]]
    : path.startsWith("/api/")
    ? [["Authorization", "Bearer {{platformAccess}}"]]
    : path.startsWith("/operator/") || path === "/metrics"
    ? [["Authorization", "Bearer {{operator}}"]]
    : !isPage(path)
    ? []
    : [["Cookie", `startlist_session={{${/^\/(?:account|oauth)/.test(path) ? "session" : "platformSession"}}}`]]

const contentTypes = {
  None: [],
  Raw: [],
  Form: [["Content-Type", formType]],
  Json: [["Content-Type", "application/json"]]
} as const

/** The identifier that a segment of a path stands for. */
const identifiers = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = known[name]
    if (typeof value === "string") return value
    return path.includes("/deliveries/")
      ? "{{deliveryId}}"
      : path.includes("/users/")
      ? "{{userId}}"
      : "{{registrationId}}"
  })

const toRequest = ({ body, method, path, query }: Operation): Sent => ({
  method,
  path: identifiers(path),
  query: query.filter(([, value]) => value !== ""),
  tail: "",
  version: "HTTP/1.1",
  headers: [["Host", "startlist.test"], ...credentials(path), ...contentTypes[body._tag]],
  body,
  framing: "length"
})

/** A path of now as one that stays right. */
const withNames = (path: string, { clientId, deliveryId, spareClientId }: Values): string =>
  path.replace(`/applications/${clientId}`, "/applications/{{clientId}}")
    .replace(`/applications/${spareClientId}`, "/applications/{{spareClientId}}")
    .replace(`/deliveries/${deliveryId}`, "/deliveries/{{deliveryId}}")

/** Every form of a page as the request that a browser would send, with the names of what is fresh in each session. */
const formsAt = async (service: MeasuredService, world: World, page: Sent): Promise<ReadonlyArray<Base>> => {
  const values = world.values()
  const fill = (text: string) => text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => String(values[name]))
  const query = new URLSearchParams(page.query.map(([name, value]) => [name, fill(value)]))
  const response = await fetch(`${service.url}${fill(page.path)}?${query}`, {
    redirect: "manual",
    headers: page.headers.map(([name, value]): [string, string] => [name, fill(value)]).slice(1)
  })
  const session = page.headers.find(([name]) => name === "Cookie")
  const csrf = session?.[1].includes("platform") === true ? "{{platformCsrf}}" : "{{csrf}}"
  const forms = formsOf({
    url: service.url,
    status: response.status,
    headers: response.headers,
    html: await response.text()
  })
  return forms.filter(({ method }) => method === "POST").flatMap(({ action, buttons, fields }) => {
    const url = new URL(action)
    const inputs = [...fields].map(([name, value]): Pairs[number] => [
      name,
      name === "csrf" ? csrf : value === "" ? String(known[name] ?? "text") : value
    ])
    const path = withNames(url.pathname, values)
    return (buttons.length === 0 ? [[]] : buttons.map((button) => [button])).map((button): Base => ({
      name: `POST ${path}`,
      request: {
        ...page,
        method: "POST",
        path,
        query: [...url.searchParams],
        headers: [...page.headers, ...contentTypes.Form],
        body: { _tag: "Form", fields: [...inputs, ...button] }
      }
    }))
  })
}

/** Requests that no form and no document has: the other grant type, the other client authentication, and signing in. */
const besides: ReadonlyArray<Operation & { readonly headers: Pairs }> = [
  {
    method: "POST",
    path: "/oauth/token",
    query: [],
    headers: [["Authorization", "Basic {{basic}}"]],
    body: { _tag: "Form", fields: [["grant_type", "authorization_code"], ["code", "{{code}}"]] }
  },
  {
    method: "POST",
    path: "/login",
    query: [],
    headers: [["Cookie", "startlist_session={{nobodySession}}"]],
    body: { _tag: "Form", fields: [["csrf", "{{nobodyCsrf}}"], ["email", "{{email}}"], ["password", "{{password}}"]] }
  },
  {
    method: "POST",
    path: "/account/security/password",
    query: [],
    headers: [["Cookie", "startlist_session={{spareSession}}"]],
    body: { _tag: "Form", fields: [["csrf", "{{spareCsrf}}"], ["present", "wrong"], ["password", "another password"]] }
  },
  {
    method: "POST",
    path: "/account/security/sessions",
    query: [],
    headers: [["Cookie", "startlist_session={{session}}"]],
    body: { _tag: "Form", fields: [["csrf", "{{csrf}}"], ["session", "unknown"]] }
  },
  {
    method: "POST",
    path: "/reset-password",
    query: [],
    headers: [],
    body: { _tag: "Form", fields: [["csrf", "x"], ["token", "sl_pr_1_zzzzzz_x"], ["password", "another password"]] }
  }
]

const spares: Readonly<Record<string, string>> = {
  access: "spareAccess",
  platformAccess: "sparePlatformAccess",
  clientId: "spareClientId",
  userId: "spareUserId",
  clientSecret: "spareClientSecret",
  session: "spareSession",
  csrf: "spareCsrf",
  platformSession: "spareSession",
  platformCsrf: "spareCsrf"
}

/** Requests that end something get their own object, because the others need theirs longer. */
const sparing = (base: Base): Base =>
  /^DELETE |logout|revo|suspend|disable|pause|cancel|\/(?:end|subscription)$/.test(base.name)
    ? JSON.parse(
      JSON.stringify(base).replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => `{{${spares[name] ?? name}}}`)
    )
    : base

/** The forms for password and sessions would end sessions that other requests need, so these have no effect. */
const isHarmless = ({ request }: Base): boolean => !request.path.startsWith("/account/security/")

/** Each backup copies the whole database. */
const isExpensive = ({ path }: Sent): boolean => path.endsWith("/backups")

/** Finds them. */
export const findBases = async (service: MeasuredService, world: World): Promise<ReadonlyArray<Base>> => {
  const operations = [...await described(service), ...await Effect.runPromise(routed)]
  const bases = operations.map((operation): Base => ({
    name: `${operation.method} ${operation.path}`,
    request: toRequest(operation)
  }))
  const pages = bases.filter(({ request }) => request.method === "GET" && isPage(request.path))
  const forms: Array<Base> = []
  for (const { request } of pages) forms.push(...await formsAt(service, world, request))
  const more = besides.map((operation): Base => ({
    name: `${operation.method} ${operation.path}`,
    request: { ...toRequest(operation), headers: [["Host", "x"], ...operation.headers, ...contentTypes.Form] }
  }))
  const all = [...bases, ...forms.filter(isHarmless), ...more].filter(({ request }) => !isExpensive(request))
  const byText = new Map(all.map(sparing).map((base) => [JSON.stringify(base), base]))
  return [...byText.values()]
}

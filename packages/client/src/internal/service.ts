/** Requests to the service, and errors by the action that they require. */
import { readStream } from "../Body.ts"

/** The user must consent again: the grant has ended, or never existed. */
export class ConnectAgain extends Error {
  override readonly name = "ConnectAgain"
  readonly user: string
  constructor(user: string) {
    super(`user ${user} has to connect again`)
    this.user = user
  }
}

/** The service is temporarily unavailable. Nothing is lost: repeat the call later. */
export class TryLater extends Error {
  override readonly name = "TryLater"
  /** Seconds to wait before the next attempt, if the service has named a time. */
  readonly retryAfter: number | undefined
  constructor(message: string, retryAfter?: number, options?: ErrorOptions) {
    super(message, options)
    this.retryAfter = retryAfter
  }
}

/** The user has refused consent. */
export class AccessDenied extends Error {
  override readonly name = "AccessDenied"
  constructor() {
    super("access_denied: the user has not allowed the access")
  }
}

/** The service refuses the request permanently: a mistake of the application, or a redirect of another session. */
export class Refused extends Error {
  override readonly name = "Refused"
  /**
   * The OAuth error, such as `invalid_client`; `invalid_state` and `invalid_issuer` if the redirect belongs to another
   * session or service.
   */
  readonly code: string
  constructor(code: string, description: string) {
    super(`${code}: ${description}`)
    this.code = code
  }
}

/** A response with its body. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  /** The service's clock, in milliseconds since 1970. Not a number without the header `Date`. */
  readonly date: number
}

/** Timeout of a request in milliseconds. */
const timeout = 10_000

/** Limits of a response: a page of the event log is the largest. */
const limits = { maxBytes: 16 * 1_048_576, maxPieces: Infinity, timeout }

const retryAfterOf = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Sends a request. Fails with `TryLater` without a response, or with status 429 or 5xx. */
export const send = async (fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<Answer> => {
  let response: Response
  let text: string
  try {
    response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeout) })
    text = new TextDecoder().decode(await readStream(response.body, limits))
  } catch (cause) {
    throw new TryLater("the service does not answer", undefined, { cause })
  }
  if (response.status === 429 || response.status >= 500) {
    throw new TryLater(`the service answers with status ${response.status}`, retryAfterOf(response))
  }
  return { status: response.status, body: parse(text), date: Date.parse(response.headers.get("date") ?? "") }
}

const textOf = (body: unknown, field: string): string | undefined => {
  const value = typeof body === "object" && body !== null ? Reflect.get(body, field) as unknown : undefined
  return typeof value === "string" ? value : undefined
}

/** The refusal in a response (RFC 6749 §5.2, RFC 6750 §3.1). */
export const refusalOf = ({ body, status }: Answer): Refused =>
  new Refused(textOf(body, "error") ?? `status_${status}`, textOf(body, "error_description") ?? `status ${status}`)

/** A page of the event log. */
export interface Page {
  readonly events: ReadonlyArray<
    { readonly webhook_id: string; readonly sequence?: number; readonly event: unknown }
  >
  readonly next: string
}

const isPage = (body: unknown): body is Page =>
  typeof body === "object" && body !== null && Array.isArray(Reflect.get(body, "events")) &&
  typeof Reflect.get(body, "next") === "string"

interface Service {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
}

/** Maximum number of events on a page. A page with fewer is the last one. */
export const limit = 100

/** The page after a cursor. Nothing if the log does not have the cursor, as after a restored backup. */
export const readPage = async (
  { fetch, url }: Service,
  accessToken: string,
  cursor: string | undefined
): Promise<Page | undefined> => {
  const after = cursor === undefined ? "" : `&after=${encodeURIComponent(cursor)}`
  const headers = { authorization: `Bearer ${accessToken}` }
  const found = await send(fetch, `${url}/api/v1/webhook_subscription/events?limit=${limit}${after}`, { headers })
  if (found.status === 200) {
    if (isPage(found.body)) return found.body
    throw new Refused("invalid_response", `${url} is not a Startlist service`)
  }
  if (found.status === 422 && cursor !== undefined) return undefined
  throw refusalOf(found)
}

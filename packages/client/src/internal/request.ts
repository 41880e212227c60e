/** Requests to the service, with failures by the required action. */
import { Refused, TryLater } from "../Errors.ts"

/** A response with its body. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  /** The service's clock, in milliseconds since 1970. Not a number without the header `Date`. */
  readonly date: number
}

/** Timeout of a request in milliseconds. */
const timeout = 10_000

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
    text = await response.text()
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

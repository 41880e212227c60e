/** The event log of the service, a page at a time. */
import { Refused } from "../Errors.ts"
import { refusalOf, send } from "./request.ts"

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

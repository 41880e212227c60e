/** An application made of promises and Web requests. `test/RacePlanner.test.ts` has its tests. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** State of the application. In production, store it in a database. */
export interface State {
  refreshToken: string
  accessToken: string
  /** Seconds since 1970. */
  expiresAt: number
  signingSecret: string
  /** Events that were processed, by `webhook-id`. */
  readonly processed: Set<string>
  /** The status of each registration, and the sequence of its event. */
  readonly statuses: Map<number, { readonly status: string; readonly sequence: number }>
}

export const emptyState = (): State => ({
  refreshToken: "",
  accessToken: "",
  expiresAt: 0,
  signingSecret: "",
  processed: new Set(),
  statuses: new Map()
})

export const verifyToken = "only the planner knows"

/** Environment of the application. A test provides a network that fails, and a virtual clock. */
export interface Surroundings {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Seconds since 1970. */
  readonly now: () => number
  readonly client: Readonly<Record<"client_id" | "client_secret", string>>
}

const isAuthentic = (headers: Headers, body: string, signingSecret: string, now: number): boolean => {
  const timestamp = headers.get("webhook-timestamp")
  if (!(Math.abs(now - Number(timestamp)) <= 300)) return false
  const hmac = createHmac("sha256", Buffer.from(signingSecret.replace("whsec_", ""), "base64"))
  const signed = hmac.update(`${headers.get("webhook-id")}.${timestamp}.${body}`).digest("base64")
  const expected = Buffer.from(`v1,${signed}`)
  return (headers.get("webhook-signature") ?? "").split(" ").map((one) => Buffer.from(one))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected))
}

/** The body of an event. Anybody can send one, so nothing is returned for more than 64 KiB. */
const readBody = async ({ body }: Request): Promise<string | undefined> => {
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let text = ""
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    text += decoder.decode(next.value, { stream: true })
    if (text.length > 65_536) {
      await reader?.cancel()
      return undefined
    }
  }
  return text
}

/** The callback. It processes each event once, and ignores events that are older than the stored status. */
export const webhook =
  (state: State, { now }: Pick<Surroundings, "now">) => async (request: Request): Promise<Response> => {
    if (request.method === "GET") {
      const query = new URL(request.url).searchParams
      if (query.get("hub.verify_token") !== verifyToken) return new Response("", { status: 403 })
      return Response.json({ "hub.challenge": query.get("hub.challenge") })
    }
    const body = await readBody(request)
    if (body === undefined) return new Response("", { status: 413 })
    if (!isAuthentic(request.headers, body, state.signingSecret, now())) return new Response("", { status: 401 })
    const id = request.headers.get("webhook-id") ?? ""
    if (state.processed.has(id)) return new Response("")
    state.processed.add(id)
    const sequence = Number(request.headers.get("startlist-sequence"))
    const { object_id: registration, updates } = JSON.parse(body)
    if (sequence > (state.statuses.get(registration)?.sequence ?? 0)) {
      state.statuses.set(registration, { status: updates.registration_status, sequence })
    }
    return new Response("")
  }

/** The application's requests to Startlist. */
export const makeClient = (state: State, { client, fetch, now }: Surroundings) => {
  /** Tries three times. The `Idempotency-Key` makes the repeats safe: all of them get the same tokens. */
  const askForTokens = async (parameters: Readonly<Record<string, string>>): Promise<void> => {
    const headers = { "idempotency-key": crypto.randomUUID() }
    const ask = () =>
      fetch("https://startlist.example/oauth/token", {
        method: "POST",
        headers,
        body: new URLSearchParams({ ...client, ...parameters })
      })
    const response = await ask().catch(ask).catch(ask)
    if (response.status !== 200) throw new Error(await response.text())
    const tokens = await response.json()
    state.accessToken = tokens.access_token
    state.refreshToken = tokens.refresh_token
    state.expiresAt = tokens.created_at + tokens.expires_in
  }

  const connect = (code: string) =>
    askForTokens({ grant_type: "authorization_code", code, redirect_uri: "https://planner.example/back" })

  /** Returns an access token that is valid for another minute. */
  const accessToken = async (): Promise<string> => {
    if (state.expiresAt <= now() + 60) {
      await askForTokens({ grant_type: "refresh_token", refresh_token: state.refreshToken })
    }
    return state.accessToken
  }

  const subscribe = async (callbackUrl: string): Promise<void> => {
    const response = await fetch("https://startlist.example/api/v1/webhook_subscription", {
      method: "POST",
      headers: { "authorization": `Bearer ${await accessToken()}`, "content-type": "application/json" },
      body: JSON.stringify({ webhook_subscription: { callback_url: callbackUrl, verify_token: verifyToken } })
    })
    if (response.status !== 201) throw new Error(await response.text())
  }

  return { accessToken, connect, subscribe }
}

/** The application's web server: pages for people, a callback for the platform. */
import { memoryEvents } from "@startlist/client"
import { BodyRefused, readBody } from "@startlist/client/Body"
import { readFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { randomBytes } from "node:crypto"
import type { VNode } from "preact"
import { renderToStaticMarkup } from "preact-render-to-string"
import * as Actions from "./Actions.ts"
import * as Pushes from "./Pushes.ts"
import { live, Page } from "./pages/Page.tsx"
import * as RaceOffice from "./RaceOffice.ts"
import type { Settings } from "./Settings.ts"
import * as Startlist from "./Startlist.ts"
import * as State from "./State.ts"

const files: Readonly<Record<string, string>> = { "/live.js": "text/javascript", "/style.css": "text/css" }

/** Maximum size of a form in bytes. */
const maxFormBytes = 65_536

const send = (response: ServerResponse, status: number, type: string, body: string | Buffer): void => {
  response.writeHead(status, { "content-type": type, "x-content-type-options": "nosniff" }).end(body)
}

const text = (response: ServerResponse, status: number, body: string): void =>
  send(response, status, "text/plain; charset=utf-8", body)

/** Maximum number of connections in progress. The oldest are dropped. */
const maxPending = 100

/** Redirects the browser with a GET. */
const goTo = (response: ServerResponse, location: string, headers: Readonly<Record<string, string>> = {}): void => {
  response.writeHead(303, { location, "cache-control": "no-store", ...headers }).end()
}

/** Cookie of the browser that began a connection. Only this browser can complete it. */
const cookieName = "race_planner"

const browserOf = (request: IncomingMessage): string | undefined =>
  new RegExp(`(?:^|; *)${cookieName}=([\\w-]+)`).exec(request.headers.cookie ?? "")?.[1]

/** Listens on this machine. */
export const start = async (settings: Settings): Promise<Server> => {
  const state = State.make()
  const startlist = Startlist.make(settings)
  const office = RaceOffice.make(settings)
  const pushes = Pushes.make()
  const actions = Actions.make({ office, startlist, state })
  const pending = new Map<string, Startlist.Pending & { readonly browser: string }>()

  const headers = {
    // No `form-action`: it would also apply to the platform's redirects, for example to another sign-in.
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src data:",
      "frame-ancestors 'none'",
      "base-uri 'none'"
    ].join("; "),
    "referrer-policy": "same-origin",
    "cache-control": "no-store"
  }

  const fragments = () =>
    Object.fromEntries(
      Object.entries(live({ settings, state })).map(([id, node]: [string, VNode]) => [id, renderToStaticMarkup(node)])
    )

  const showPage = async (response: ServerResponse): Promise<void> => {
    const registration = await office?.look().catch(() => undefined)
    const page = renderToStaticMarkup(Page({ registration, settings, state }))
    response.writeHead(200, { ...headers, "content-type": "text/html; charset=utf-8" }).end(`<!doctype html>${page}`)
  }

  /** Shows the result on this page and on all other open pages. */
  const finish = (response: ServerResponse, at: State.Section): void => {
    goTo(response, `/#${at}`)
    pushes.push(fragments())
  }

  const connect = async (request: IncomingMessage, response: ServerResponse, role: State.Role): Promise<void> => {
    const browser = browserOf(request) ?? randomBytes(18).toString("base64url")
    try {
      const { pending: begun, url } = await startlist.authorize(role)
      pending.set(begun.keep.state, { ...begun, browser })
      for (const oldest of pending.keys()) if (pending.size > maxPending) pending.delete(oldest)
      state.notice = undefined
      goTo(response, url, { "set-cookie": `${cookieName}=${browser}; Path=/; HttpOnly; SameSite=Lax` })
    } catch (error) {
      await Actions.attempt(state, role, () => Promise.reject(error))
      finish(response, role)
    }
  }

  /** Refuses a code that another browser requested, which an attacker may have planted. */
  const complete = async (
    request: IncomingMessage,
    address: URL,
    begun: (Startlist.Pending & { readonly browser: string }) | undefined
  ) => {
    if (begun === undefined || begun.browser !== browserOf(request)) {
      throw new Startlist.Refused("This answer belongs to no connection that was begun in this browser. Connect again.")
    }
    const connection = await startlist.exchange(address, begun)
    state.connections.set(connection.role, connection)
    state.farewells.delete(connection.role)
    if (connection.role === "platform") state.subscription = await startlist.subscription(connection)
    return { text: "Connected. The code was exchanged for tokens." }
  }

  const callback = async (request: IncomingMessage, response: ServerResponse, address: URL): Promise<void> => {
    const answered = address.searchParams.get("state") ?? ""
    const begun = pending.get(answered)
    pending.delete(answered)
    const at = begun?.role ?? "athlete"
    await Actions.attempt(state, at, () => complete(request, address, begun))
    finish(response, at)
  }

  const act = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (request.headers.origin !== settings.publicUrl) return text(response, 403, "This form is not from here.\n")
    const form = await readBody(request, { maxBytes: maxFormBytes })
    const fields = new URLSearchParams(Buffer.from(form).toString())
    if (path === "/connect") return connect(request, response, Actions.roleOf(fields))
    const action = actions[path]
    if (action === undefined) return text(response, 404, "There is nothing here.\n")
    const at = Actions.sectionOf(path, fields)
    await Actions.attempt(state, at, () => action(fields))
    finish(response, at)
  }

  /** Checks and stores events, acknowledges them, and then processes them (requirements §6.3). */
  const inbox = startlist.client.inbox({
    store: memoryEvents(),
    verifyToken: state.verifyToken,
    signingSecrets: () => [settings.signingSecret],
    handle: async (event) => {
      state.received.unshift({ at: new Date(), event })
      state.received.splice(50)
      await Actions.follow({ startlist, state }, event)
      pushes.push(fragments())
    }
  })

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = new URL(request.url ?? "/", settings.publicUrl)
    const path = address.pathname
    if (path === "/webhook") return inbox.node(request, response)
    // The connection ends with the answer, so that nobody has to read the rest of a refused body.
    if (request.method !== "GET") response.setHeader("connection", "close")
    if (request.method === "POST") return act(request, response, path)
    if (request.method !== "GET") return text(response, 405, "Only GET and POST are served.\n")
    switch (path) {
      case "/":
        return showPage(response)
      case "/callback":
        return callback(request, response, address)
      case "/live":
        return pushes.open(response, fragments())
      default: {
        const type = files[path]
        if (type === undefined) return text(response, 404, "There is nothing here.\n")
        return send(response, 200, type, await readFile(new URL(`../public${path}`, import.meta.url)))
      }
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (error instanceof BodyRefused) return text(response, error.status, "This form is too large.\n")
      console.error(error)
      if (response.headersSent) response.destroy()
      else text(response, 500, "This did not work.\n")
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`port ${settings.port} is already in use. Choose another one with PORT.`)
          : error
      ))
    server.listen(settings.port, "127.0.0.1", resolve)
  })
  return server
}

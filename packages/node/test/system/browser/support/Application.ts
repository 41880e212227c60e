/** Another web server: the application to which the browser returns, or a hostile page. */
import { Effect } from "effect"
import { createServer } from "node:http"

export interface Application {
  /** Its origin. `localhost`: another site than `127.0.0.1` to a browser. */
  readonly url: string
  /** The same server under the host of the service: another origin, but the same site. */
  readonly neighbourUrl: string
  /** The redirect URI. */
  readonly redirectUri: string
  /** Another redirect URI, which redirects to another origin of the same site. */
  readonly onwardUri: string
  /** Requests of the browser, newest last. */
  readonly visits: ReadonlyArray<URL>
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("\"", "&quot;")

/** Sends the browser on to the neighbour, as a callback does that is at another origin than what people see. */
const onward = "/onward"

/** `/frame?url=` shows a page in a frame; `/forge?to=&…` has a form that posts the rest; others say where one is. */
const pageOf = (url: URL): string => {
  const { to, ...fields } = Object.fromEntries(url.searchParams)
  switch (url.pathname) {
    case "/frame":
      return `<iframe src="${escape(url.searchParams.get("url") ?? "")}" width="600" height="400"></iframe>`
    case "/forge":
      return `<form method="post" action="${escape(to ?? "")}">${
        Object.entries(fields)
          .map(([name, value]) => `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`)
          .join("")
      }<button>Win a bicycle</button></form>`
    default:
      return `<h1>Back at the application</h1>`
  }
}

/** Listens on loopback until the scope closes. */
export const makeApplication = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const visits: Array<URL> = []
      const server = createServer((request, response) => {
        const url = new URL(request.url ?? "/", "http://localhost")
        if (url.pathname === "/favicon.ico") return void response.writeHead(204).end()
        visits.push(url)
        if (url.pathname === onward) {
          const host = request.headers.host?.replace("localhost", "127.0.0.1")
          return void response.writeHead(302, { location: `http://${host}/arrived${url.search}` }).end()
        }
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" })
        response.end(`<!doctype html><html lang="en"><title>Application</title>${pageOf(url)}</html>`)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const url = `http://localhost:${port}`
      const application: Application = {
        url,
        neighbourUrl: `http://127.0.0.1:${port}`,
        redirectUri: `${url}/callback`,
        onwardUri: `${url}${onward}`,
        visits
      }
      return { application, server }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ),
  ({ application }) => application
)

/** A plain `node:http` server: its own pages, and Startlist for everything else. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { NodeHttp } from "@startlist/http"
import * as Startlist from "./Startlist.ts"
import * as Users from "./Users.ts"

const home = (_request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/plain" }).end("The club's own page.\n")
}

/** Returns the path if it is a page of this server, else "/". */
const local = (returnTo: string | null): string =>
  returnTo !== null && /^\/(?![/\\])[!-~]*$/.test(returnTo) ? returnTo : "/"

/** The server's own sign-in page. This example trusts everybody: replace it by yours. */
const signIn = (request: IncomingMessage, response: ServerResponse): void => {
  const query = new URL(request.url ?? "", "http://club.invalid").searchParams
  const cookie = Users.signIn(query.get("email") ?? "")
  if (cookie === undefined) response.writeHead(403).end("Who are you?\n")
  else response.writeHead(303, { location: local(query.get("return_to")), "set-cookie": cookie }).end()
}

/** The fields of a form. Anybody can send one, so it has a limit of 64 KiB. */
const formOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let body = ""
  for await (const piece of request.setEncoding("utf8")) {
    body += piece
    if (body.length > 65_536) throw new Error("the form is too large")
  }
  return new URLSearchParams(body)
}

/** Target of the forms "Use another account" and "Sign out" of Startlist's pages. */
const signOut = (request: IncomingMessage, response: ServerResponse): void => {
  formOf(request).then((form) => {
    Users.signOut(request.headers.cookie, form.get("csrf") ?? "")
    response.writeHead(303, { location: local(form.get("return_to")) }).end()
  }, () => response.destroy())
}

const own = new Map([["/", home], ["/sign-in", signIn], ["/sign-out", signOut]])

/** Starts the server. Startlist ends with it. */
export const start = async (port: number): Promise<Server> => {
  const startlist = await Startlist.runtime.runPromise(Startlist.listener)
  const server = NodeHttp.harden(createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?")
    const handle = own.get(path) ?? startlist
    handle(request, response)
  }))
  server.once("close", () => void Startlist.runtime.dispose())
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)))
}

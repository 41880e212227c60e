/** A server with Web requests: its own pages and API, Startlist at `/connect`, and preparations for the tests. */
import * as WebStartlist from "@startlist/embed/WebStartlist"
import * as Connect from "./Connect.ts"
import type { Prepare } from "./Prepare.ts"
import * as Users from "./Users.ts"

export type Fetch = (request: Request, address?: string) => Promise<Response>

/** The receivers of the tests are on loopback. */
export const callbacks = { allow: ["127.0.0.0/8"] }

/** A server with this public origin, without modules of Node. */
export const start = async (origin: string): Promise<Fetch> =>
  serve(await WebStartlist.make({ ...Connect.options(origin), callbacks }))

/** A server with Startlist inside. */
export const serve = (startlist: WebStartlist.WebStartlist): Fetch => {
  const results = startlist.guardHandler({ scopes: ["read"] }, (_, { userId }) => Response.json({ user: userId }))
  return async (request, address) => {
    const url = new URL(request.url)
    if (url.pathname === "/prepare") return Response.json(await prepare(startlist, await request.json()) ?? null)
    if (url.pathname === "/results") return results(request)
    if (url.pathname === "/sign-in") return request.method === "POST" ? Users.signIn(request) : Users.signInPage(url)
    return startlist.handler(request, { address })
  }
}

/** Operations for the loop that have no public API. */
const prepare = (
  { applications, deliveries, registrations }: WebStartlist.WebStartlist,
  asked: Prepare
): unknown => {
  switch (asked.call) {
    case "addUser":
      return Users.add(...asked.args)
    case "create application":
      return applications.create(...asked.args)
    case "create registration":
      return registrations.create(...asked.args)
    case "change registration":
      return registrations.change(...asked.args)
    case "list deliveries":
      return deliveries.list(...asked.args)
  }
}

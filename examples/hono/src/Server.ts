/** A Hono server: its own pages, its own API, and Startlist at `/connect`, all by Web requests. */
import type { HttpBindings } from "@hono/node-server"
import type { Startlist } from "@startlist/embed"
import { type Context, Hono } from "hono"
import { bodyLimit } from "hono/body-limit"
import * as Users from "./Users.ts"

interface Environment {
  readonly Bindings: HttpBindings
}

export const make = (startlist: Startlist.Startlist): Hono<Environment> => {
  const app = new Hono<Environment>()

  // In Next, this is the handler of `app/connect/[...path]/route.ts`, exported as `GET`, `POST`, `DELETE` and `OPTIONS`:
  // `(request) => startlist.handler(request)`.
  const connect = ({ env, req }: Context<Environment>) =>
    startlist.handler(req.raw, { address: env.incoming.socket.remoteAddress })
  app.all("/connect/*", connect)
  app.all("/.well-known/oauth-authorization-server/connect", connect)
  app.all("/.well-known/oauth-protected-resource/*", connect)

  app.get("/", (context) => context.text("The club's own page.\n"))

  // A route of the server's own, for applications that a user has allowed to read.
  const results = startlist.guardHandler(
    { scopes: ["read"] },
    (_request, access) => Response.json({ results: [], user: access.userId, application: access.applicationId })
  )
  app.get("/results", ({ req }) => results(req.raw))

  const formOf = async ({ req }: Context<Environment>) => {
    const form = await req.formData()
    return (name: string) => String(form.get(name) ?? "")
  }
  app.get("/sign-in", (context) => context.html(Users.signInPage(context.req.query("return_to") ?? "/")))
  // Anybody can send a body.
  const limit = bodyLimit({ maxSize: 65_536 })
  app.post("/sign-in", limit, async (context) => {
    const field = await formOf(context)
    const cookie = Users.signIn(field("email"), field("password"))
    if (cookie === undefined) return context.html(Users.signInPage(field("return_to")), 403)
    context.header("set-cookie", cookie)
    return context.redirect(Users.local(field("return_to")), 303)
  })
  app.post("/sign-out", limit, async (context) => {
    const field = await formOf(context)
    Users.signOut(context.req.header("cookie"), field("csrf"))
    return context.redirect(Users.local(field("return_to")), 303)
  })
  return app
}

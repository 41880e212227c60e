/** A Fastify server: its own pages, its own API, and Startlist at `/connect`. */
import type { Startlist } from "@startlist/embed"
import fastify, { type FastifyInstance } from "fastify"
import * as Users from "./Users.ts"

type Form = Readonly<Record<string, string | undefined>>

/** Undefined if a client sends no form. */
type Body = Form | undefined

export const make = (startlist: Startlist.Startlist): FastifyInstance => {
  const app = fastify()

  // A scope without body parsers: Startlist reads its requests itself.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser("*", (_request, _body, done) => done(null))
    const metadata = ["/.well-known/oauth-authorization-server/connect", "/.well-known/oauth-protected-resource/*"]
    for (const url of ["/connect/*", ...metadata]) {
      scope.all(url, (request, reply) => {
        reply.hijack()
        startlist.listener(request.raw, reply.raw)
      })
    }
  })

  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })

  app.get("/", () => "The club's own page.\n")

  // A route of the server's own, for applications that a user has allowed to read.
  app.get("/results", async ({ headers }, reply) => {
    const checked = await startlist.check(headers.authorization, { scopes: ["read"] })
    if (!checked.ok) {
      const { body, headers, status } = checked.answer
      for (const [name, value] of Object.entries(headers)) reply.header(name, value)
      return reply.code(status).send(body)
    }
    return { results: [], user: checked.access.userId, application: checked.access.applicationId }
  })

  app.get<{ Querystring: Form }>(
    "/sign-in",
    ({ query }, reply) => reply.type("text/html").send(Users.signInPage(query["return_to"] ?? "/"))
  )
  app.post<{ Body: Body }>("/sign-in", ({ body }, reply) => {
    const { email = "", password = "", return_to = "/" } = body ?? {}
    const cookie = Users.signIn(email, password)
    return cookie === undefined
      ? reply.code(403).type("text/html").send(Users.signInPage(return_to))
      : reply.header("set-cookie", cookie).redirect(Users.local(return_to), 303)
  })
  app.post<{ Body: Body }>("/sign-out", ({ body, headers }, reply) => {
    const { csrf = "", return_to = "/" } = body ?? {}
    Users.signOut(headers.cookie, csrf)
    return reply.redirect(Users.local(return_to), 303)
  })
  return app
}

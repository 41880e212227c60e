/** An Express server: its own pages, its own API, and Startlist at `/connect`. */
import type { Startlist } from "@startlist/embed"
import express, { type Express } from "express"
import * as Users from "./Users.ts"

export const make = (startlist: Startlist.Startlist): Express => {
  const app = express()

  // Before any body parser: Startlist reads its requests itself.
  app.use("/connect", startlist.listener)
  app.use("/.well-known/oauth-authorization-server/connect", startlist.listener)
  app.use("/.well-known/oauth-protected-resource", startlist.listener)

  app.get("/", (_request, response) => void response.type("text").send("The club's own page.\n"))

  // A route of the server's own, for applications that a user has allowed to read.
  app.get(
    "/results",
    startlist.guardListener({ scopes: ["read"] }, (_request, response: express.Response, access) => {
      response.json({ results: [], user: access.userId, application: access.applicationId })
    })
  )

  // A page of the server's own, with what Startlist stores for the signed-in user.
  app.get("/connections", async ({ headers }, response) => {
    const session = Users.signedIn(headers.cookie)
    if (session === undefined) return response.redirect(303, "/sign-in?return_to=/connections")
    const connections = await startlist.grants.list(session.user.id)
    const lines = connections.map(({ application, scope }) => `${application.name}: ${scope.join(", ")}\n`)
    response.type("text").send(`Your connected applications:\n${lines.join("")}`)
  })

  // The signed-in user leaves: first Startlist's records, then the server's own. After a failure, the user tries again.
  app.post("/leave", express.urlencoded({ extended: false }), async ({ body, headers }, response) => {
    const session = Users.signedIn(headers.cookie)
    if (session === undefined || session.csrf !== body?.csrf) return response.status(403).send("Sign in first.\n")
    const erased = await startlist.personalData.erase(session.user.id)
    if (!erased.ok) return response.status(409).send("First delete your applications.\n")
    Users.remove(session.user.id)
    return response.type("text").send("Your account and your connections are gone.\n")
  })

  const form = express.urlencoded({ extended: false })
  app.get("/sign-in", (request, response) => {
    response.send(Users.signInPage(String(request.query["return_to"] ?? "/")))
  })
  app.post("/sign-in", form, ({ body }, response) => {
    const { email, password, return_to = "/" } = body ?? {}
    const cookie = Users.signIn(String(email), String(password))
    if (cookie === undefined) response.status(403).send(Users.signInPage(String(return_to)))
    else response.set("set-cookie", cookie).redirect(303, Users.local(String(return_to)))
  })
  app.post("/sign-out", form, ({ body, headers }, response) => {
    const { csrf, return_to = "/" } = body ?? {}
    Users.signOut(headers.cookie, String(csrf))
    response.redirect(303, Users.local(String(return_to)))
  })
  return app
}

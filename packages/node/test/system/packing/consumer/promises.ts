/** A server without Effect. The test compiles and runs it in projects with another version of Effect, or none. */
import { Startlist } from "@startlist/embed"
import * as WebStartlist from "@startlist/embed/WebStartlist"
import { Fake } from "@startlist/fake"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"

const people: ReadonlyArray<Startlist.User> = [
  { id: 1, role: "platform", email: "paul@club.example" },
  { id: 2, role: "athlete", email: "alice@club.example", firstName: "Alice" }
]

const options: WebStartlist.Options = {
  url: "https://club.example/connect",
  findUser: (id) => people.find((user) => user.id === id),
  endpoints: ["oauth", "athlete", "webhooks"],
  policy: { accessTokenLifetime: "1 hour" }
}

const redirectUri = "https://app.example/back"

/** Connects the athlete with a new application. Returns an access token. */
const connect = async ({ applications, consents, handler }: WebStartlist.WebStartlist): Promise<string> => {
  const created = await applications.create(1, { name: "Race Day", redirectUris: [redirectUri] })
  if (!created.ok) throw new Error(created.message)
  const clientId = String(created.application.id)
  const query = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope: "read" }
  const allowed = await consents.allow(String(new URLSearchParams(query)), people[1] ?? expected())
  if (!allowed.ok) throw new Error("refused")
  const fields = {
    grant_type: "authorization_code",
    client_id: clientId,
    client_secret: created.secret,
    code: new URL(allowed.redirect).searchParams.get("code") ?? "",
    redirect_uri: redirectUri
  }
  const request = new Request("https://club.example/connect/oauth/token", {
    method: "POST",
    body: new URLSearchParams(fields)
  })
  const answer: { readonly access_token: string } = JSON.parse(await (await handler(request)).text())
  return answer.access_token
}

const expected = (): never => {
  throw new Error("missing")
}

const userOf = async ({ check }: WebStartlist.WebStartlist, token: string) => {
  const checked = await check(`Bearer ${token}`, { scopes: ["read"] })
  return checked.ok ? checked.access.userId : checked.answer.status
}

const newKey = () => randomBytes(32).toString("base64")

/** The user of a token after a restart, and why another key is refused. */
const kept = async (database: Startlist.Options["database"]): Promise<unknown> => {
  const key = newKey()
  const given = { ...options, key, ...(database === undefined ? {} : { database }) }
  const first = await Startlist.make(given)
  const token = await connect(first)
  await first.close()
  const second = await Startlist.make(given)
  const user = await userOf(second, token)
  await second.close()
  const refused = await Startlist.make({ ...given, key: newKey() }).then(
    () => "nothing",
    (error: Error) => error.message
  )
  return [user, refused]
}

const web = await WebStartlist.make(options)
const served = await Startlist.make(options)
Startlist.harden(createServer(served.listener))
const fake = await Fake.start()

const [folder, url] = process.argv.slice(2)
console.log(JSON.stringify({
  web: await userOf(web, await connect(web)),
  node: await userOf(served, await connect(served)),
  folder: await kept({ folder: folder ?? "" }).catch((error: Error) => error.message),
  server: url === undefined ? "none" : await kept({ url }),
  fake: fake.users().length
}))
await Promise.all([web.close(), served.close(), fake.stop()])

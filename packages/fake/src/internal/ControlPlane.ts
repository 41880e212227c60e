/** The controls of a fake over HTTP, as JSON below `/fake`, with their description. */
import * as Either from "effect/Either"
import type { JsonSchema7 } from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { deliveryFaults, type Fake, InvalidControl, responseFaults } from "./Controls.ts"
import type { People } from "./People.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const Who = Schema.Union(Schema.Int, Schema.NonEmptyString)
const Count = optional(Schema.Int.pipe(Schema.between(1, 1000)))

const Updates = Schema.Struct({
  platform_id: optional(Schema.String),
  registration_status: optional(Schema.String),
  document_type: optional(Schema.String),
  document_status: optional(Schema.String),
  reasons: optional(Schema.Array(Schema.String)),
  comment: optional(Schema.String)
})

const message = (status: number, text: string): Response => Response.json({ message: text }, { status })

interface Operation {
  readonly summary: string
  readonly status: number
  readonly body?: Schema.Schema.All
  readonly run: (request: Request, id: number) => Promise<Response>
}

const respond = (status: number, value: unknown): Response =>
  status === 204 ? new Response(null, { status }) : Response.json(value, { status })

/** An operation without a body. */
const plain = (status: number, summary: string, use: () => unknown): Operation => ({
  status,
  summary,
  run: async () => respond(status, await use())
})

/** An operation with a body. It must have the type of JSON, which a page of another site cannot send without asking. */
const taking = <A, I>(
  status: number,
  summary: string,
  body: Schema.Schema<A, I>,
  use: (value: A, id: number) => unknown
): Operation => {
  const decode = Schema.decodeUnknownEither(Schema.parseJson(body), { onExcessProperty: "error" })
  const run = async (request: Request, id: number): Promise<Response> => {
    if (!/^application\/json *(?:;|$)/i.test(request.headers.get("content-type") ?? "")) {
      return message(415, "the body must have the header Content-Type: application/json")
    }
    const decoded = decode(await request.text())
    if (Either.isRight(decoded)) return respond(status, await use(decoded.right, id))
    const problems = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    return message(400, problems.map(({ message, path }) => `${path.join(".") || "the body"}: ${message}`).join("; "))
  }
  return { status, summary, body, run }
}

const showUser = ({ email, firstName, id, lastName, role }: ReturnType<Fake["users"]>[number]) => ({
  id,
  role,
  email,
  first_name: firstName,
  last_name: lastName
})

const showApplication = ({ clientId, clientSecret, name, signingSecret }: Fake["application"]) => ({
  client_id: clientId,
  client_secret: clientSecret,
  signing_secret: signingSecret,
  name
})

const operationsOf = (fake: Fake): Readonly<Record<string, Operation>> => ({
  "GET /fake": plain(200, "Shows the address, the time, the application and the users", () => ({
    url: fake.url,
    now: fake.now().toISOString(),
    application: showApplication(fake.application),
    users: fake.users().map(showUser)
  })),
  "GET /fake/openapi.json": plain(200, "This document", () => describe(fake)),
  "POST /fake/consent": taking(
    200,
    "Decides about an authorization URL as a user. Returns the redirect of the browser",
    Schema.Struct({ url: Schema.NonEmptyString, user: Who, decision: optional(Schema.Literal("allow", "deny")) }),
    async ({ decision, url, user }) => ({ redirect: await fake.consent(url, user, decision) })
  ),
  "POST /fake/time": taking(
    200,
    "Moves the time forward, and delivers events that become due",
    Schema.Struct({ advance: Schema.NonEmptyString }),
    async ({ advance }) => {
      await fake.advance(advance as Parameters<Fake["advance"]>[0])
      return { now: fake.now().toISOString() }
    }
  ),
  "POST /fake/responses": taking(
    204,
    "Plans faults of the next responses",
    Schema.Struct({
      next: Schema.Literal(...responseFaults),
      count: Count,
      path: optional(Schema.String),
      delay: optional(Schema.Int.pipe(Schema.between(0, 60_000)))
    }),
    ({ next, ...others }) => fake.nextResponses({ fault: next, ...others })
  ),
  "POST /fake/deliveries": taking(
    204,
    "Plans faults of the next events",
    Schema.Struct({ next: Schema.Literal(...deliveryFaults), count: Count }),
    ({ count, next }) => fake.nextDeliveries(next, count)
  ),
  "GET /fake/deliveries": plain(
    200,
    "Waits until all due events are delivered, and lists all deliveries",
    async () => {
      await fake.settle()
      return { deliveries: await fake.deliveries() }
    }
  ),
  "DELETE /fake/faults": plain(204, "Removes faults that have not happened yet", fake.clearFaults),
  "POST /fake/registrations": taking(
    201,
    "Creates a registration",
    Schema.Struct({ athlete: optional(Who), organizer: optional(Who), club: optional(Who), ...Updates.fields }),
    async ({ athlete, club, organizer, ...updates }) => {
      const parties = {
        ...(athlete === undefined ? {} : { athlete }),
        ...(club === undefined ? {} : { club }),
        ...(organizer === undefined ? {} : { organizer })
      }
      return { id: await fake.addRegistration(parties, updates) }
    }
  ),
  "PATCH /fake/registrations/{id}": taking(
    204,
    "Changes a registration, which causes an event",
    Updates,
    (updates, id) => fake.changeRegistration(id, updates)
  ),
  "POST /fake/revocations": taking(
    204,
    "Revokes the access on behalf of a user, which causes an event",
    Schema.Struct({ user: Who, client_id: optional(Schema.Int) }),
    ({ client_id, user }) => fake.revoke(user, client_id)
  ),
  "POST /fake/users": taking(
    201,
    "Creates a user",
    Schema.Struct({
      role: Schema.Literal("platform", "organizer", "club", "athlete"),
      email: Schema.NonEmptyString,
      first_name: optional(Schema.String),
      last_name: optional(Schema.String)
    }),
    ({ email, first_name = "", last_name = "", role }) =>
      showUser(fake.addUser({ role, email, firstName: first_name, lastName: last_name }))
  ),
  "POST /fake/applications": taking(
    201,
    "Creates an application",
    Schema.Struct({
      name: Schema.NonEmptyString,
      redirect_uris: optional(Schema.Array(Schema.String)),
      require_pkce: optional(Schema.Boolean)
    }),
    async ({ name, redirect_uris = [], require_pkce = false }) =>
      showApplication(await fake.addApplication({ name, redirectUris: redirect_uris, requirePkce: require_pkce }))
  ),
  "GET /fake/requests": plain(
    200,
    "Lists the requests of the application with their responses",
    () => ({ requests: fake.requests() })
  ),
  "DELETE /fake/requests": plain(204, "Removes the recorded requests of the application", fake.clearRequests)
})

/** The description of all operations (OpenAPI 3.1). */
const describe = async (fake: Fake) => {
  const JSONSchema = await import("effect/JSONSchema")
  const schemas: Record<string, JsonSchema7> = {}
  const paths: Record<string, Record<string, object>> = {}
  for (const [name, { body, status, summary }] of Object.entries(operationsOf(fake))) {
    const [method = "", path = ""] = name.split(" ")
    const schema = body === undefined ? undefined : JSONSchema.fromAST(body.ast, {
      definitions: schemas,
      definitionPath: "#/components/schemas/",
      target: "openApi3.1"
    })
    const parameter = { name: "id", in: "path", required: true, schema: { type: "integer" } }
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        summary,
        ...(path.includes("{id}") ? { parameters: [parameter] } : {}),
        ...(schema === undefined
          ? {}
          : { requestBody: { required: true, content: { "application/json": { schema } } } }),
        responses: {
          [status]: { description: "Done" },
          403: { description: "The request comes from a page of another site" },
          ...(schema === undefined ? {} : {
            400: { description: "The body does not match its schema" },
            415: { description: "The body is not application/json" },
            422: { description: "The request cannot be done. The message names the field" }
          })
        }
      }
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Controls of a fake Startlist", version: "1" },
    servers: [{ url: fake.url }],
    paths,
    components: { schemas }
  }
}

/** Endpoints for a browser, which is sent to the first one from any site. */
const pagesOf = (people: People): Readonly<Record<string, Operation["run"]>> => ({
  "GET /fake/sign-in": async (request) =>
    new Response(people.page(new URL(request.url).searchParams.get("return_to") ?? ""), {
      headers: { "content-type": "text/html; charset=utf-8" }
    }),
  "POST /fake/sign-in": async (request) => {
    const form = new URLSearchParams(await request.text())
    const user = people.named(form.get("user") ?? "")
    if (user === undefined) return message(400, "user: there is no such user")
    const { cookie, location } = people.enter(user, form.get("return_to") ?? "")
    return new Response(null, { status: 303, headers: { location, "set-cookie": cookie } })
  },
  "POST /fake/sign-out": async (request) => {
    const returnTo = new URLSearchParams(await request.text()).get("return_to") ?? ""
    return new Response(null, {
      status: 303,
      headers: { location: people.signIn.signInUrl(returnTo), "set-cookie": "fake_session=; Path=/; Max-Age=0" }
    })
  }
})

/** Whether a browser sends this request for a page of another site. Other programs send neither header. */
const isForeign = ({ headers, url }: Request): boolean => {
  const origin = headers.get("origin") ?? undefined
  const site = headers.get("sec-fetch-site") ?? "none"
  return (origin !== undefined && origin !== new URL(url).origin) || (site !== "none" && site !== "same-origin")
}

/** Answers requests to paths that begin with `/fake`. */
export const make = (fake: Fake, people: People): (request: Request) => Promise<Response> => {
  const operations = operationsOf(fake)
  const pages = pagesOf(people)
  const paths = new Set([...Object.keys(operations), ...Object.keys(pages)].map((name) => name.split(" ")[1]))

  return async (request) => {
    const { pathname } = new URL(request.url)
    const [, id] = /^\/fake\/registrations\/(\d{1,16})$/.exec(pathname) ?? []
    const path = id === undefined ? pathname : "/fake/registrations/{id}"
    const name = `${request.method} ${path}`
    if (name !== "GET /fake/sign-in" && isForeign(request)) {
      return message(403, "a page of another site may not control the fake")
    }
    const run = operations[name]?.run ?? pages[name]
    if (run === undefined) {
      return paths.has(path)
        ? message(405, `${request.method} is not allowed for this path. See /fake/openapi.json`)
        : message(404, "there is no such control. See /fake/openapi.json for all of them")
    }
    try {
      return await run(request, Number(id))
    } catch (problem) {
      if (problem instanceof InvalidControl) return message(422, problem.message)
      throw problem
    }
  }
}

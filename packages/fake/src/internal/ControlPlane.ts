/** The controls of a fake over HTTP, as JSON below `/fake`. */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Bodies from "./ControlBodies.ts"
import type { Operation } from "./ControlDescription.ts"
import { type Fake, InvalidControl } from "./Controls.ts"
import type { People } from "./People.ts"

const error = (status: number, message: string): Response => Response.json({ message }, { status })
const noContent = () => new Response(null, { status: 204 })

/** Reads the body and handles the request. */
const reading = <A, I>(schema: Schema.Schema<A, I>, use: (value: A) => Promise<Response> | Response) => {
  const decode = Schema.decodeUnknownEither(Schema.parseJson(schema), { onExcessProperty: "error" })
  return async (request: Request): Promise<Response> => {
    const decoded = decode(await request.text())
    return Either.isRight(decoded)
      ? use(decoded.right)
      : error(
        400,
        ParseResult.ArrayFormatter.formatErrorSync(decoded.left).map(({ message, path }) =>
          `${path.join(".") || "the body"}: ${message}`
        ).join("; ")
      )
  }
}

type Control = (request: Request, id: number) => Promise<Response> | Response

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

export const make = (fake: Fake, people: People): (request: Request) => Promise<Response> => {
  const described: Readonly<Record<Operation, Control>> = {
    "GET /fake": () =>
      Response.json({
        url: fake.url,
        now: fake.now().toISOString(),
        application: showApplication(fake.application),
        users: fake.users().map(showUser)
      }),
    "POST /fake/consent": reading(
      Bodies.Consent,
      async ({ decision, url, user }) => Response.json({ redirect: await fake.consent(url, user, decision) })
    ),
    "POST /fake/time": reading(Bodies.Time, async ({ advance }) => {
      await fake.advance(advance as Parameters<Fake["advance"]>[0])
      return Response.json({ now: fake.now().toISOString() })
    }),
    "POST /fake/responses": reading(Bodies.Responses, ({ next, ...others }) => {
      fake.nextResponses({ fault: next, ...others })
      return noContent()
    }),
    "POST /fake/deliveries": reading(Bodies.Deliveries, ({ count, next }) => {
      fake.nextDeliveries(next, count)
      return noContent()
    }),
    "DELETE /fake/faults": () => {
      fake.clearFaults()
      return noContent()
    },
    "GET /fake/deliveries": async () => {
      await fake.settle()
      return Response.json({ deliveries: await fake.deliveries() })
    },
    "POST /fake/registrations": reading(Bodies.Registration, async ({ athlete, club, organizer, ...updates }) => {
      const parties = {
        ...(athlete === undefined ? {} : { athlete }),
        ...(club === undefined ? {} : { club }),
        ...(organizer === undefined ? {} : { organizer })
      }
      return Response.json({ id: await fake.addRegistration(parties, updates) }, { status: 201 })
    }),
    "PATCH /fake/registrations/{id}": (request, id) =>
      reading(Bodies.Updates, async (updates) => {
        await fake.changeRegistration(id, updates)
        return noContent()
      })(request),
    "POST /fake/revocations": reading(Bodies.Revocation, async ({ client_id, user }) => {
      await fake.revoke(user, client_id)
      return noContent()
    }),
    "POST /fake/users": reading(
      Bodies.User,
      ({ email, first_name = "", last_name = "", role }) =>
        Response.json(showUser(fake.addUser({ role, email, firstName: first_name, lastName: last_name })), {
          status: 201
        })
    ),
    "POST /fake/applications": reading(
      Bodies.Application,
      async ({ name, redirect_uris = [], require_pkce = false }) => {
        const made = await fake.addApplication({ name, redirectUris: redirect_uris, requirePkce: require_pkce })
        return Response.json(showApplication(made), { status: 201 })
      }
    ),
    "GET /fake/requests": () => Response.json({ requests: fake.requests() }),
    "DELETE /fake/requests": () => {
      fake.clearRequests()
      return noContent()
    },
    "GET /fake/openapi.json": async () => Response.json((await import("./ControlDescription.ts")).document(fake.url))
  }
  /** Endpoints for a browser. */
  const pages: Readonly<Record<string, Control>> = {
    "GET /fake/sign-in": (request) =>
      new Response(people.page(new URL(request.url).searchParams.get("return_to") ?? ""), {
        headers: { "content-type": "text/html; charset=utf-8" }
      }),
    "POST /fake/sign-in": async (request) => {
      const form = new URLSearchParams(await request.text())
      const user = people.named(form.get("user") ?? "")
      if (user === undefined) return error(400, "user: there is no such user")
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
  }
  const controls: Readonly<Record<string, Control>> = { ...described, ...pages }
  const paths = new Set(Object.keys(controls).map((name) => name.split(" ")[1]))

  return async (request) => {
    const [, id] = /^\/fake\/registrations\/(\d{1,16})$/.exec(new URL(request.url).pathname) ?? []
    const path = id === undefined ? new URL(request.url).pathname : "/fake/registrations/{id}"
    const control = controls[`${request.method} ${path}`]
    if (control === undefined) {
      return paths.has(path)
        ? error(405, `${request.method} is not allowed for this path. See /fake/openapi.json`)
        : error(404, "there is no such control. See /fake/openapi.json for all of them")
    }
    try {
      return await control(request, Number(id))
    } catch (problem) {
      if (problem instanceof InvalidControl) return error(422, problem.message)
      throw problem
    }
  }
}

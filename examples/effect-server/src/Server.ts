/** An Effect server: pages and an `HttpApi` of its own, and Startlist at `/connect`. */
import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Audit, Memory } from "@startlist/core"
import { EffectHttp, Embedding, HttpConfig, Mount, NodeSecrets, Protocol } from "@startlist/http"
import { Pages } from "@startlist/pages"
import { Effect, Layer, Option, Schema } from "effect"
import * as Api from "./Api.ts"
import * as Users from "./Users.ts"

/** Startlist's endpoints and pages among the server's own. */
const startlist = HttpLayerRouter.use((router) =>
  Effect.gen(function*() {
    const app = yield* Effect.flatMap(
      Mount.make([Protocol.routes, Pages.routes], { notFound: Pages.notFound }),
      EffectHttp.app
    )
    yield* router.add("*", "/connect/*", app)
    yield* router.add("*", "/.well-known/oauth-authorization-server/connect", app)
    yield* router.add("*", "/.well-known/oauth-protected-resource/*", app)
  })
)

const home = HttpLayerRouter.add("GET", "/", HttpServerResponse.text("The club's own page.\n"))

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("\"", "&quot;")

const signInPage = (returnTo: string): string =>
  `<!doctype html><html lang="en"><title>Sign in</title><form method="post" action="/sign-in">
<input type="hidden" name="return_to" value="${escape(returnTo)}">
<label>E-mail <input name="email" type="email"></label>
<label>Password <input name="password" type="password"></label>
<button>Sign in</button></form></html>`

const page = (status: number, returnTo: string) =>
  HttpServerResponse.text(signInPage(returnTo), { status, contentType: "text/html;charset=UTF-8" })

const Form = Schema.Struct({ email: Schema.String, password: Schema.String, return_to: Schema.String })

const SignOut = Schema.Struct({ csrf: Schema.String, return_to: Schema.String })

/** The fields of a form. Anybody can send one, so it has a limit of 64 KiB. */
const form = <A, I extends Readonly<Record<string, string | ReadonlyArray<string> | undefined>>, R>(
  schema: Schema.Schema<A, I, R>
) => HttpServerRequest.withMaxBodySize(HttpServerRequest.schemaBodyUrlParams(schema), Option.some(65_536))

/** Returns the path if it is a page of this server, else "/". */
const local = (returnTo: string): string => /^\/(?![/\\])[!-~]*$/.test(returnTo) ? returnTo : "/"

const signIn = HttpLayerRouter.use((router) =>
  Effect.gen(function*() {
    const users = yield* Users.Users
    yield* router.add(
      "GET",
      "/sign-in",
      Effect.map(
        HttpServerRequest.schemaSearchParams(Schema.Struct({ return_to: Schema.optional(Schema.String) })),
        ({ return_to = "/" }) => page(200, return_to)
      )
    )
    yield* router.add(
      "POST",
      "/sign-in",
      Effect.map(form(Form), ({ email, password, return_to }) =>
        Option.match(users.signIn(email, password), {
          onNone: () => page(403, return_to),
          onSome: (cookie) =>
            HttpServerResponse.empty({ status: 303, headers: { location: local(return_to), "set-cookie": cookie } })
        }))
    )
    yield* router.add(
      "POST",
      "/sign-out",
      Effect.gen(function*() {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { csrf, return_to } = yield* form(SignOut)
        users.signOut(headers["cookie"], csrf)
        return HttpServerResponse.empty({ status: 303, headers: { location: local(return_to) } })
      })
    )
  })
)

/** The parts that Startlist needs: the server's users and sessions, its address, a store. */
const services = (origin: string) =>
  Layer.merge(Embedding.layer(), Users.layerAuthentication).pipe(
    Layer.provideMerge(Layer.merge(Memory.layer, Users.layerStore)),
    Layer.provideMerge(Layer.merge(Audit.none, NodeSecrets.layerDrawn)),
    Layer.provideMerge(
      Layer.succeed(HttpConfig.HttpConfig, {
        ...HttpConfig.local,
        authUrl: `${origin}/connect`,
        baseUrl: `${origin}/connect`
      })
    )
  )

/** All routes of this server, with this public origin. */
export const layer = (origin: string) =>
  HttpLayerRouter.serve(
    Layer.mergeAll(startlist, home, signIn, HttpLayerRouter.addHttpApi(Api.Api).pipe(Layer.provide(Api.layer))),
    // No access log: some applications send their secrets in the query.
    { disableLogger: true, disableListenLog: true }
  ).pipe(Layer.provideMerge(services(origin)))

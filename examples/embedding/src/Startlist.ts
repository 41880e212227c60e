/** Startlist for a server with its own users and sessions. */
import { Audit, Memory, User } from "@startlist/core"
import { Dispatcher } from "@startlist/dispatcher"
import { Embedding, Http, HttpConfig, Mount, NodeHttp, NodeSecrets, Protocol } from "@startlist/http"
import { Authentication, Pages } from "@startlist/pages"
import { Effect, Layer, ManagedRuntime, Option } from "effect"
import * as Users from "./Users.ts"

/** Startlist reads the server's own users. */
const users = Layer.succeed(User.UserStore, {
  find: (id) => Effect.sync(() => Option.fromNullable(Users.find(id)))
})

/** The server's own session identifies the user of a browser. */
const authentication = Layer.succeed(Authentication.Authentication, {
  identify: (request) => Effect.sync(() => Option.fromNullable(Users.signedIn(Http.header(request, "cookie")))),
  signInUrl: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
  signOutUrl: "/sign-out"
})

/** The services over a store in memory. In production, use `Postgres.layer`. */
const startlist = Layer.merge(Embedding.layer(), authentication).pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, users, Dispatcher.layer, NodeSecrets.layerDrawn)),
  Layer.provideMerge(Layer.merge(Audit.none, HttpConfig.layerLocal))
)

/** The runtime of Startlist. `dispose` ends it. */
export const runtime = ManagedRuntime.make(startlist)

/** A listener for `node:http`: `/oauth/*`, `/api/v1/*` and the pages. All other paths get 404. */
export const listener = Effect.flatMap(
  Mount.make([Protocol.routes, Pages.routes], { notFound: Pages.notFound }),
  NodeHttp.listener
)

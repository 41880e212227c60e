/** Startlist for a server that has users and sessions of its own: all that it takes. */
import { Memory, User } from "@startlist/core"
import { Dispatcher } from "@startlist/dispatcher"
import { Embedding } from "@startlist/embed"
import { Message, Mount, NodeHttp, NodeSecrets, Protocol } from "@startlist/http"
import { Authentication, Pages } from "@startlist/pages"
import { Effect, Layer, ManagedRuntime, Option } from "effect"
import * as Users from "./Users.ts"

/** The server's users are read where they are. */
const users = Layer.succeed(User.UserStore, {
  find: (id) => Effect.sync(() => Option.fromNullable(Users.find(id)))
})

/** Who sits in front of the browser is known by the server's own session. */
const authentication = Layer.succeed(Authentication.Authentication, {
  identify: (request) => Effect.sync(() => Option.fromNullable(Users.signedIn(Message.header(request, "cookie")))),
  signInUrl: (returnTo) => `/sign-in?return_to=${encodeURIComponent(returnTo)}`,
  signOutUrl: "/sign-out"
})

/** The services over a store: here in memory; `Postgres.layer` takes its place. */
const startlist = Layer.merge(Embedding.layer(), authentication).pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, users, Dispatcher.layer, NodeSecrets.layerDrawn))
)

/** Everything that runs while the server does; `dispose` ends it. */
export const runtime = ManagedRuntime.make(startlist)

/** A listener for `node:http`: `/oauth/*`, `/api/v1/*`, the pages; everything else is answered with 404. */
export const listener = Effect.flatMap(
  Mount.make([Protocol.routes, Pages.routes], { notFound: Pages.notFound }),
  NodeHttp.listener
)

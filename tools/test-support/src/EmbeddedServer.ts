/** A server in this process that serves the listener or handler of `Startlist.make`. */
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import type { Startlist } from "@startlist/embed"
import { Effect, Layer, Option } from "effect"
import { createServer, type RequestListener } from "node:http"
import { LoopServer } from "./LoopServer.ts"

/** Allows callbacks on loopback, for `Startlist.make`. */
export const onLoopback = { allow: ["127.0.0.0/8"] }

/** The same as a layer. */
export const callbacks = Dispatcher.layerWith({ allow: Option.toArray(parseBlock("127.0.0.0/8")) })

/** A server on a free port of loopback. `serve` sets the handler when the address is known. */
export const listen = async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    origin: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    serve: (listener: RequestListener) => void server.on("request", listener),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** A running server with Startlist in it. */
export interface Embedding {
  readonly url: string
  /** Adds a user with this password and returns the identifier. */
  readonly addUser: (user: Omit<Startlist.User, "id">, password: string) => number | Promise<number>
  /** The methods of `Startlist` that prepare a test. They may run in another process. */
  readonly startlist: {
    readonly applications: Pick<Startlist.Calls["applications"], "create">
    readonly registrations: Pick<Startlist.Calls["registrations"], "create" | "change">
    readonly deliveries: Pick<Startlist.Calls["deliveries"], "list">
  }
  readonly close: () => Promise<void>
}

let people = 0

const toLoopServer = ({ addUser, startlist, url }: Embedding): LoopServer["Type"] => ({
  url,
  createUser: async (role) => {
    const email = `${role}-${++people}@example.test`
    const password = `correct horse ${people}`
    const id = await addUser({ role, email, firstName: "Ada", lastName: "Lovelace" }, password)
    return { id, email, password, first_name: "Ada", last_name: "Lovelace" }
  },
  createApplication: async (owner) => {
    const created = await startlist.applications.create(owner.id, { name: "Race Day", redirectUris: [] })
    if (!created.ok) throw new Error(created.message)
    return { client_id: created.application.id, client_secret: created.secret }
  },
  createRegistration: async ({ athlete_id, organizer_id, platform_id = "" }) => {
    const parties = { athleteId: athlete_id, organizerId: organizer_id }
    const created = await startlist.registrations.create(parties, { platform_id })
    if (!created.ok) throw new Error(created.message)
    return created.registration.id
  },
  changeRegistration: async (id, updates) => (await startlist.registrations.change(id, updates)).ok ? 200 : 404,
  deliveryStates: async ({ client_id }) =>
    (await startlist.deliveries.list({ applicationId: client_id })).map(({ state }) => state)
})

/** Starts a server for a test file and closes it afterwards. */
export const layer = (start: () => Promise<Embedding>): Layer.Layer<LoopServer> =>
  Layer.scoped(
    LoopServer,
    Effect.map(
      Effect.acquireRelease(Effect.promise(start), ({ close }) => Effect.promise(close)),
      toLoopServer
    )
  )

/** The loop's server for `Startlist.make` in this process, inside of whatever serves its listener or handler. */
import { Memory } from "@startlist/core"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import type { Startlist } from "@startlist/embed"
import { Effect, Layer, Option } from "effect"
import { createServer, type RequestListener } from "node:http"
import { LoopServer } from "./LoopServer.ts"

/** Callbacks may be on loopback here. */
export const callbacks = Dispatcher.layerWith({ allow: Option.toArray(parseBlock("127.0.0.0/8")) })

export const stores = Memory.layer

/** A server on a free port of loopback; `serve` sets what answers, once its address is known. */
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

/** A server that runs: its own way to register a user, and Startlist inside of it. */
export interface Embedding {
  readonly url: string
  /** Adds a user who signs in with this password; answers the identifier. */
  readonly addUser: (user: Omit<Startlist.User, "id">, password: string) => number | Promise<number>
  /** Of `Startlist`, what prepares the loop: that may be in another process. */
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

/** Starts it for a test file, and closes it afterwards. */
export const layer = (start: () => Promise<Embedding>): Layer.Layer<LoopServer> =>
  Layer.scoped(
    LoopServer,
    Effect.map(
      Effect.acquireRelease(Effect.promise(start), ({ close }) => Effect.promise(close)),
      toLoopServer
    )
  )

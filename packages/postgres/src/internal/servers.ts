/** Finds the server that takes writes, like libpq with `target_session_attrs=read-write`. */
import { Socket } from "node:net"
import * as Pg from "pg"
import type { Server } from "../ServerUrl.ts"

/** Timeout in milliseconds for the check whether a server takes writes. */
const patience = 2000

/** Checks that a server takes writes. Fails if it does not, or does not answer. */
const probe = async (config: Pg.ClientConfig, server: Server): Promise<Server> => {
  const { connectionString, ...others } = config
  const client = new Pg.Client({
    ...others,
    ...parsed(connectionString ?? ""),
    ...server,
    connectionTimeoutMillis: patience
  })
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows } = await client.query(
      { text: "SHOW transaction_read_only", query_timeout: patience } as Pg.QueryConfig
    )
    if (rows[0]?.transaction_read_only === "off") return server
    throw new Error(`${server.host} takes no writes`)
  } finally {
    client.end().catch(() => {})
  }
}

/** The options that `pg` reads from a URL, so that host and port can be replaced. */
const parsed = (url: string): Pg.ClientConfig => {
  const { database, password, ssl, user } = new Pg.Client({ connectionString: url }) as Pg.Client & {
    readonly ssl?: Pg.ClientConfig["ssl"]
  }
  return { database, user, ...(password === null ? {} : { password }), ...(ssl === undefined ? {} : { ssl }) }
}

/** The servers of one database. Connections use the one that takes writes, until one of them breaks. */
export interface Servers {
  /** A socket that connects to that server and ignores the given address. None if there is only one server. */
  readonly stream: (() => Socket) | undefined
  /** Reports that the server no longer takes writes. */
  readonly forget: () => void
}

export const make = (servers: ReadonlyArray<Server>, config: Pg.ClientConfig): Servers => {
  let found: Promise<Server> | undefined
  const forget = () => {
    found = undefined
  }
  const find = (): Promise<Server> => {
    if (found !== undefined) return found
    const searching = Promise.any(servers.map((server) => probe(config, server)))
    found = searching
    searching.catch(() => {
      if (found === searching) forget()
    })
    return searching
  }
  const stream = () => {
    const socket = new Socket()
    const connect = socket.connect.bind(socket)
    const route = (): Socket => {
      find().then(
        ({ host, port }) => connect(port, host),
        (cause) => socket.destroy(new Error("no server of the database takes writes", { cause }))
      )
      return socket
    }
    return Object.assign(socket, { connect: route }).on("error", forget)
  }
  return { stream: servers.length < 2 ? undefined : stream, forget }
}

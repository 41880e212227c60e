/**
 * A pool of connections to PostgreSQL, with direct statements: prepared, without spans, with a deadline. `pg` knows one
 * server: this finds the one that takes writes, as libpq does. Pipelined statements on a connection gained nothing.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { SqlError } from "@effect/sql/SqlError"
import { Socket } from "node:net"
import * as Prepared from "./prepared.ts"
import * as ServerUrl from "../ServerUrl.ts"
import * as Settings from "./settings.ts"
import type { Database, Statement } from "../Database.ts"
import { deadlineMillis, timedOut } from "./failures.ts"
import { SlotPool } from "./slots.ts"
import type { Server } from "../ServerUrl.ts"

/** Options of the connections. */
export interface Connection {
  /**
   * `postgres://user:password@host:port/database?sslmode=…`. With several servers (`host1:port,host2:port`),
   * connections use the one that takes writes.
   */
  readonly url: Redacted.Redacted<string>
  /** Maximum number of connections (default: 10). */
  readonly maxConnections?: number | undefined
  /**
   * Whether a connection is not shared (default: true). Set it to false behind a pooler in transaction mode: then there
   * are no prepared statements, settings and notifications, and only this process enforces deadlines.
   */
  readonly preparedStatements?: boolean | undefined
}

/** Servers by URL, so that all connections to a database know which server takes writes. */
const known = new Map<string, Servers>()

/** Settings of every connection. `pg` refuses an invalid URL. */
const settings = ({ url }: Connection): { readonly config: Pg.ClientConfig; readonly forget: () => void } => {
  const given = Redacted.value(url)
  const target = ServerUrl.parse(given) ?? { url: given, servers: [] }
  const config = {
    connectionString: target.url,
    application_name: "startlist",
    keepAlive: true,
    connectionTimeoutMillis: deadlineMillis
  }
  const servers = known.get(given) ?? makeServers(target.servers, config)
  known.set(given, servers)
  const { forget, stream } = servers
  return { config: stream === undefined ? config : { ...config, stream }, forget }
}

/** A pool for the service. A statement ends at the deadline: on the server, and here if the server does not answer. */
export const make = (connection: Connection): Effect.Effect<SlotPool, never, Scope.Scope> =>
  acquire(connection, deadlineMillis, {
    max: connection.maxConnections ?? 10,
    query_timeout: deadlineMillis + 500
  })

/** One connection on which statements may take their time: for migrations. */
export const makePatient = (connection: Connection): Effect.Effect<SlotPool, never, Scope.Scope> =>
  acquire(connection, 0, { max: 1 })

/**
 * Makes the settings of a session and refuses one that the stores cannot use. With statements, because a pooler refuses
 * unknown settings in the startup packet.
 */
const prepare = async (client: Pg.ClientBase, connection: Connection, deadline: number): Promise<void> => {
  const isOurs = connection.preparedStatements !== false
  const results: unknown = await client.query(isOurs ? `${Settings.set(deadline)}; ${Settings.ask}` : Settings.ask)
  const [last] = (Array.isArray(results) ? results : [results]).slice(-1)
  const session = last?.rows[0]
  const refused = Settings.refuse(session)
  if (refused?.isOfServer === true) settings(connection).forget()
  if (refused !== undefined) throw refused
  if (isOurs && await isShared(client, session.pid, connection)) throw Settings.shared
}

/** URLs of poolers that give each connection a session of its own. */
const unshared = new Set<string>()

const processOf = async (client: Pg.ClientBase): Promise<unknown> =>
  (await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.pid

/**
 * Whether a connection shares its session. A server says its process to a new connection, a pooler another number. A pooler
 * in transaction mode gives a connection the session that is free, which another one has just used.
 */
const isShared = async (client: Pg.ClientBase, process: unknown, connection: Connection): Promise<boolean> => {
  const url = Redacted.value(connection.url)
  if (unshared.has(url) || (Predicate.hasProperty(client, "processID") && client.processID === process)) return false
  const other = new Pg.Client({ ...settings(connection).config, query_timeout: patience })
  other.on("error", ignore)
  try {
    await other.connect()
    for (let round = 0; round < 3; round++) {
      const theirs = await processOf(other)
      const ours = await processOf(client)
      if (theirs === ours || ours !== process) return true
    }
    unshared.add(url)
    return false
  } catch {
    // No session is free, because the other connections keep theirs.
    return false
  } finally {
    other.end().catch(ignore)
  }
}

const acquire = (connection: Connection, deadline: number, config: Pg.PoolConfig) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      new SlotPool({
        ...settings(connection).config,
        ...config,
        onConnect: (client) => prepare(client, connection, deadline)
      })
    ),
    (pool) =>
      Effect.promise(() => pool.end()).pipe(
        Effect.interruptible,
        Effect.timeoutOption(Duration.seconds(1)),
        Effect.ignoreLogged,
        // The process must end, also if the server does not answer.
        Effect.zipRight(Effect.sync(() => pool.lose()))
      )
  )

/** Statements outside of transactions, each on any free connection. A failed statement closes its connection. */
export const direct = (pool: Pg.Pool, isPrepared = true): Database.Direct => (statement, parameters) =>
  Effect.async((resume) => {
    const fail = (cause: unknown) => resume(Effect.fail(new SqlError({ cause, message: "a statement failed" })))
    const timer = setTimeout(() => fail(timedOut().cause), deadlineMillis)
    const end = (error: Error | null | undefined, rows: ReadonlyArray<object> = []) => {
      clearTimeout(timer)
      if (error) fail(error)
      else resume(Effect.succeed(rows))
    }
    const connected: Parameters<typeof pool.connect>[0] = (error, client, release) => {
      if (client === undefined) return end(error ?? new Error("there is no connection"))
      client.on("error", ignore)
      Prepared.run(client, isPrepared ? statement : unnamed(statement), parameters, (error, rows) => {
        client.off("error", ignore)
        release(error ?? undefined)
        end(error, rows)
      })
    }
    // It throws if the file of a certificate is missing: each connection reads it again.
    try {
      pool.connect(connected)
    } catch (error) {
      fail(error)
    }
  })

/** Statements without a name, which are planned each time and not stored on the connection. */
const unnamed = ({ text }: Statement): Statement => ({ name: "", text })

/** Ignores the error of a broken connection, because its statement also gets it. */
const ignore = () => {}

/** Pause in milliseconds between two checks whether the server answers. */
export const pulseMillis = 5000

/** A separate connection that receives notifications of a channel, until it breaks. */
export const listen = (
  connection: Connection,
  channel: string,
  heard: (payload: string) => void
): Effect.Effect<never, SqlError> =>
  Effect.async((resume) => {
    const client = new Pg.Client({ ...settings(connection).config, query_timeout: deadlineMillis })
    const end = () => {
      clearInterval(asking)
      client.end().catch(() => {})
    }
    const fail = (cause: unknown) => {
      end()
      resume(Effect.fail(new SqlError({ cause, message: "not listening" })))
    }
    // A network that silently drops everything looks like a quiet channel.
    const asking = setInterval(() => {
      client.query("SELECT 1").catch(fail)
    }, pulseMillis)
    client.on("error", fail)
    client.on("end", () => fail(new Error("the connection has ended")))
    client.on("notification", ({ payload }) => heard(payload ?? ""))
    client.connect().then(() => client.query(`LISTEN ${client.escapeIdentifier(channel)}`)).catch(fail)
    return Effect.sync(end)
  })

/** Connects and ends: a pooler answers, even if all its sessions are in use. Fails if nobody does. */
export const reach = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.tryPromise({
    try: async () => {
      const client = new Pg.Client(settings(connection).config)
      client.on("error", ignore)
      await client.connect()
      client.end().catch(ignore)
    },
    catch: (cause) => new SqlError({ cause, message: "no connection" })
  })

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
interface Servers {
  /** A socket that connects to that server and ignores the given address. None if there is only one server. */
  readonly stream: (() => Socket) | undefined
  /** Reports that the server no longer takes writes. */
  readonly forget: () => void
}

const makeServers = (servers: ReadonlyArray<Server>, config: Pg.ClientConfig): Servers => {
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

/**
 * Connections to PostgreSQL: to the server that takes writes, as libpq finds it, since `pg` knows one server; and with the
 * settings that our statements need, whatever the defaults of the role or of the database are.
 */
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Pg from "pg"
import { Socket } from "node:net"
import * as ServerUrl from "../ServerUrl.ts"
import { deadlineMillis, UnusableDatabase } from "./statement.ts"

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

/** The servers of databases by URL, so that all connections to a database know which server takes writes. */
const known = new Map<string, Servers>()

/** Configuration of every connection. `pg` refuses an invalid URL. */
export const configOf = ({ url }: Connection): { readonly config: Pg.ClientConfig; readonly forget: () => void } => {
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

/** Timeout in milliseconds for the check whether a server takes writes. */
const patience = 2000

/** Checks that a server takes writes. Fails if it does not, or does not answer. */
const probe = async (config: Pg.ClientConfig, server: ServerUrl.Server): Promise<ServerUrl.Server> => {
  const { connectionString, ...others } = config
  const client = new Pg.Client({
    ...others,
    ...parsed(connectionString ?? ""),
    ...server,
    connectionTimeoutMillis: patience
  })
  client.on("error", ignore)
  try {
    await client.connect()
    const { rows } = await client.query(
      { text: "SHOW transaction_read_only", query_timeout: patience } as Pg.QueryConfig
    )
    if (rows[0]?.transaction_read_only === "off") return server
    throw new Error(`${server.host} takes no writes`)
  } finally {
    client.end().catch(ignore)
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

const makeServers = (servers: ReadonlyArray<ServerUrl.Server>, config: Pg.ClientConfig): Servers => {
  let found: Promise<ServerUrl.Server> | undefined
  const forget = () => {
    found = undefined
  }
  const find = (): Promise<ServerUrl.Server> => {
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

/**
 * The settings of every session, each with its reason. Without a value, the operator's stays. Others change at most how long
 * statements take, or are the operator's choice: `search_path` names the schema of the tables.
 */
const settings = {
  /** Statements lock rows and compare versions. At a higher level, a concurrent change would fail them (40001). */
  default_transaction_isolation: "'read committed'",
  /** Texts of statements have no escapes. */
  standard_conforming_strings: "'on'",
  /** The driver reads these forms. */
  datestyle: "'ISO, MDY'",
  intervalstyle: "'postgres'",
  extra_float_digits: "'1'",
  /** The deadline of a statement ends a wait for a lock. */
  lock_timeout: "'0'",
  /** The pool has idle connections, and one listens. */
  idle_session_timeout: "'0'",
  /** Each transaction has a deadline here. This is for a process that stops inside one, and keeps its locks. */
  idle_in_transaction_session_timeout: "'30s'",
  transaction_timeout: "'0'",
  /** A success must not be lost in a crash of the server. Other values decide only which standbys wait. */
  synchronous_commit: "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' END",
  /** Compiling takes longer than any statement here. */
  jit: "'off'",
  /**
   * Custom plans are made for each execution: listing a long history took twice as long. A test checks the generic plans.
   * Citus makes plans for known values only.
   */
  plan_cache_mode: "CASE WHEN EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN 'force_custom_plan' "
    + "ELSE 'force_generic_plan' END"
}

/** The settings as SQL. Older servers do not have all of them. The timeout, in milliseconds, is that of each statement. */
const set = (statementTimeout: number): string => {
  const rows = Object.entries(settings).map(([name, value]) => `('${name}', ${value})`).join(", ")
  return `SET statement_timeout = ${statementTimeout};
    SELECT set_config(name, value, false) FROM (VALUES ${rows}) s(name, value)
    WHERE value IS NOT NULL AND current_setting(name, true) IS NOT NULL`
}

/** Properties of a session, as the server reports them. */
interface Session {
  readonly pid: number
  readonly encoding: string
  readonly isolation: string
  readonly read_only: string
  readonly is_standby: boolean
}

/** A statement whose row is a `Session`. */
const ask = `SELECT current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby,
  current_setting('default_transaction_isolation') AS isolation, current_setting('transaction_read_only') AS read_only,
  pg_backend_pid() AS pid`

/** A pooler gives a session to several connections. */
const shared = new UnusableDatabase(
  "a pooler gives one session to several connections, so prepared statements get lost: set PREPARED_STATEMENTS=off"
)

/** Why the stores cannot use a session, if they cannot. */
const refuse = ({ encoding, is_standby, isolation, read_only }: Session): UnusableDatabase | undefined => {
  if (read_only === "on") {
    const reason = is_standby ? "it is a standby" : "default_transaction_read_only is on"
    return new UnusableDatabase(`the database takes no writes: ${reason}`, true)
  }
  if (encoding !== "UTF8") {
    return new UnusableDatabase(
      `the database has the encoding ${encoding}, which cannot hold every text. Create one with UTF8: `
        + "createdb --encoding UTF8 --template template0"
    )
  }
  // Only behind a pooler, where a session is not ours to set.
  if (isolation !== "read committed") {
    return new UnusableDatabase(
      `transactions of the database are ${isolation}. Behind a pooler, this is set for the role: `
        + "ALTER ROLE … SET default_transaction_isolation = 'read committed'"
    )
  }
  return undefined
}

/**
 * Makes the settings of a session and refuses one that the stores cannot use. With statements, because a pooler refuses
 * unknown settings in the startup packet.
 */
export const setUpSession = async (client: Pg.ClientBase, connection: Connection, deadline: number): Promise<void> => {
  const isOurs = connection.preparedStatements !== false
  const results: unknown = await client.query(isOurs ? `${set(deadline)}; ${ask}` : ask)
  const [last] = (Array.isArray(results) ? results : [results]).slice(-1)
  const session = last?.rows[0]
  const refused = refuse(session)
  if (refused?.isOfServer === true) configOf(connection).forget()
  if (refused !== undefined) throw refused
  if (isOurs && await isShared(client, session.pid, connection)) throw shared
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
  const other = new Pg.Client({ ...configOf(connection).config, query_timeout: patience })
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

/** Ignores the error of a broken connection, because its statement also gets it. */
export const ignore = () => {}

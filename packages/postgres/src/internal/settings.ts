/** The settings and properties of a server that our sessions need: defaults of a role or a database change statements. */

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
export const set = (statementTimeout: number): string => {
  const rows = Object.entries(settings).map(([name, value]) => `('${name}', ${value})`).join(", ")
  return `SET statement_timeout = ${statementTimeout};
    SELECT set_config(name, value, false) FROM (VALUES ${rows}) s(name, value)
    WHERE value IS NOT NULL AND current_setting(name, true) IS NOT NULL`
}

/** What a server says of a session. */
interface Session {
  readonly pid: number
  readonly encoding: string
  readonly isolation: string
  readonly read_only: string
  readonly is_standby: boolean
}

/** A statement whose row is a `Session`. */
export const ask = `SELECT current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby,
  current_setting('default_transaction_isolation') AS isolation, current_setting('transaction_read_only') AS read_only,
  pg_backend_pid() AS pid`

/** The stores cannot use this database. */
export class UnusableDatabase extends Error {
  override readonly name = "UnusableDatabase"
  /** Whether another server of the database may be usable. */
  readonly isOfServer: boolean
  constructor(message: string, isOfServer = false) {
    super(message)
    this.isOfServer = isOfServer
  }
}

/** The `UnusableDatabase` that has caused an error, if there is one. */
export const findUnusable = (error: unknown): UnusableDatabase | undefined =>
  error instanceof UnusableDatabase ? error : error instanceof Error ? findUnusable(error.cause) : undefined

/** A pooler gives a session to several connections. */
export const shared = new UnusableDatabase(
  "a pooler gives one session to several connections, so prepared statements get lost: set PREPARED_STATEMENTS=off"
)

/** Why the stores cannot use a session, if they cannot. */
export const refuse = ({ encoding, is_standby, isolation, read_only }: Session): UnusableDatabase | undefined => {
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

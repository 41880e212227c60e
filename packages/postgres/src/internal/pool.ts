/**
 * A pool of connections to PostgreSQL, and statements outside of transactions: prepared, without spans, with a deadline.
 * Pipelined statements on a connection gained nothing.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Pg from "pg"
import { SqlError } from "@effect/sql/SqlError"
import type { Database } from "../Database.ts"
import { configOf, type Connection, ignore, setUpSession } from "./connection.ts"
import {
  checkedCommit,
  type Column,
  deadlineMillis,
  type Parameter,
  type Statement,
  timedOut,
  toRow
} from "./statement.ts"

/**
 * A caller gives up at its deadline, but PostgreSQL does not notice that while a commit waits for a synchronous standby. So
 * such a connection counts until the server answers or closes it. Otherwise waiting sessions would exhaust the server.
 */
class SlotPool extends Pg.Pool {
  /** Connections that were given up, or that are ending. */
  readonly #leaving = new Set<Pg.PoolClient>()
  /** Number of times that the server was lost. */
  #losses = 0

  constructor(config: Pg.PoolConfig) {
    super(config)
    // An idle connection that breaks leaves the pool. Nothing else is needed.
    this.on("error", ignore)
    this.on("connect", (client) => this.#keepSlot(client))
    this.on("connect", checkCommit)
  }

  /** Whether a connection waits for an answer that nobody needs any more. */
  get isWaiting(): boolean {
    return this.#leaving.size > 0
  }

  /** Another connection gets no answer, so the connections of now do not wait for one: the network may have lost them. */
  lose(): void {
    this.#losses++
    for (const client of this.#leaving) client.connection.stream.destroy()
  }

  /** The pool sets `release` each time that it lends the connection. */
  #keepSlot(client: Pg.PoolClient): void {
    const opened = this.#losses
    let release: Pg.PoolClient["release"]
    Object.defineProperty(client, "release", {
      get: () => release,
      set: (giveBack: Pg.PoolClient["release"]) => {
        release = (error) => {
          if (!error && isAtRest(client)) giveBack()
          else this.#leave(client, opened !== this.#losses, () => giveBack(true))
        }
      }
    })
  }

  /** Ends a connection as soon as the server has answered. It has ended when the server has closed it. */
  #leave(client: Pg.PoolClient, isLost: boolean, ended: () => void): void {
    let isEnding = false
    const end = () => {
      if (isEnding) return
      isEnding = true
      client.end(() => {
        this.#leaving.delete(client)
        ended()
      })
    }
    this.#leaving.add(client)
    client.on("error", end).on("end", end).on("drain", end)
    if (isLost) client.connection.stream.destroy()
    // One that broke before has had its events.
    if (isAnswered(client) || client.connection.stream.destroyed) end()
  }
}

/** `@effect/sql` has no setting for the COMMIT of this client. */
const checkCommit = (client: Pg.PoolClient): void => {
  client.query = new Proxy(client.query, {
    apply: (query, self, [text, ...others]) =>
      Reflect.apply(query, self, [text === "COMMIT" ? checkedCommit : text, ...others])
  })
}

/** Whether no statement is on its way. */
const isAnswered = (client: Pg.PoolClient): boolean =>
  Predicate.hasProperty(client, "readyForQuery") && client.readyForQuery === true

/**
 * Whether a connection may be used again: it is in no transaction either. If the client stopped waiting for `BEGIN`, the
 * server may still begin: later writes on this connection would be acknowledged, and never committed.
 */
const isAtRest = (client: Pg.PoolClient): boolean => isAnswered(client) && client.getTransactionStatus() === "I"

/** A pool for the service. A statement ends at the deadline: on the server, and here if the server does not answer. */
export const make = (connection: Connection): Effect.Effect<SlotPool, never, Scope.Scope> =>
  acquire(connection, deadlineMillis, {
    max: connection.maxConnections ?? 10,
    query_timeout: deadlineMillis + 500
  })

/** One connection on which statements may take their time: for migrations. */
export const makePatient = (connection: Connection): Effect.Effect<SlotPool, never, Scope.Scope> =>
  acquire(connection, 0, { max: 1 })

const acquire = (connection: Connection, deadline: number, config: Pg.PoolConfig) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      new SlotPool({
        ...configOf(connection).config,
        ...config,
        onConnect: (client) => setUpSession(client, connection, deadline)
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
      run(client, isPrepared ? statement : unnamed(statement), parameters, (error, rows) => {
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

/** Either an error or rows. */
type Callback = (error: Error | null | undefined, rows?: ReadonlyArray<object>) => void

/** The columns of prepared statements on a connection, by name. */
const prepared = new WeakMap<Pg.ClientBase, Map<string, ReadonlyArray<Column>>>()

/**
 * Runs a statement on a connection. `pg` prepares it on first use and reads its columns. Later runs omit the columns, which
 * take longer than one row. They cannot change: the server then refuses the prepared statement. Statements of
 * `@effect/sql-pg` are planned each time, which nearly halves the rate of rotations.
 */
export const run = (
  client: Pg.ClientBase,
  { name, text }: Statement,
  parameters: ReadonlyArray<Parameter>,
  callback: Callback
): void => {
  if (name === "") {
    client.query(text, [...parameters], (error, result) => error ? callback(error) : callback(undefined, result.rows))
    return
  }
  const known = prepared.get(client) ?? new Map<string, ReadonlyArray<Column>>()
  const columns = known.get(name)
  if (columns !== undefined) {
    client.query(new Execution(name, parameters, columns, callback))
    return
  }
  client.query({ name, text, values: [...parameters] }, (error, result) => {
    if (error) return callback(error)
    prepared.set(client, known.set(name, result.fields.map(toColumn)))
    callback(undefined, result.rows)
  })
}

const toColumn = ({ dataTypeID, name }: Pg.FieldDef): Column => ({
  name,
  parse: Pg.types.getTypeParser(dataTypeID, "text")
})

/** A prepared statement on its way. `pg` calls it for each part of the answer. */
class Execution implements Pg.Submittable {
  readonly #name: string
  #parameters: ReadonlyArray<Parameter>
  readonly #columns: ReadonlyArray<Column>
  #rows: Array<object> = []
  #failure: Error | undefined
  #end: Callback | undefined
  /**
   * `pg` wraps it in its own callback, which ends the wait for a silent server. Node 20 keeps that until its next full
   * collection, so it must not refer to rows and callers: they would fill the old generation.
   */
  callback: Callback = (error, rows) => {
    const end = this.#end
    this.#end = undefined
    this.#rows = []
    this.#parameters = []
    end?.(error, rows)
  }

  constructor(name: string, parameters: ReadonlyArray<Parameter>, columns: ReadonlyArray<Column>, callback: Callback) {
    this.#name = name
    this.#parameters = parameters
    this.#columns = columns
    this.#end = callback
  }

  submit(connection: Pg.Connection): void {
    connection.stream.cork()
    connection.bind({ statement: this.#name, values: this.#parameters.map(toText) }, true)
    connection.execute(null, true)
    connection.sync()
    connection.stream.uncork()
  }

  handleDataRow({ fields }: { readonly fields: ReadonlyArray<string | null> }): void {
    if (this.#failure !== undefined) return
    try {
      this.#rows.push(toRow(this.#columns, fields))
    } catch (cause) {
      this.#failure = new Error("a row cannot be read", { cause })
    }
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#rows)
  }
}

const toText = (parameter: Parameter): string | null => parameter === null ? null : String(parameter)

/** Pause in milliseconds between two checks whether the server answers. */
export const pulseMillis = 5000

/** A separate connection that receives notifications of a channel, until it breaks. */
export const listen = (
  connection: Connection,
  channel: string,
  heard: (payload: string) => void
): Effect.Effect<never, SqlError> =>
  Effect.async((resume) => {
    const client = new Pg.Client({ ...configOf(connection).config, query_timeout: deadlineMillis })
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
      const client = new Pg.Client(configOf(connection).config)
      client.on("error", ignore)
      await client.connect()
      client.end().catch(ignore)
    },
    catch: (cause) => new SqlError({ cause, message: "no connection" })
  })

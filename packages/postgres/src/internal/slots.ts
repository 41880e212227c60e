/** A pool whose connections keep their slots until the server is done with them. */
import * as Predicate from "effect/Predicate"
import * as Pg from "pg"

/**
 * A caller gives up at its deadline, but PostgreSQL does not notice that while a commit waits for a synchronous standby. So
 * such a connection counts until the server answers or closes it. Otherwise waiting sessions would exhaust the server.
 */
export class SlotPool extends Pg.Pool {
  /** Connections that were given up, or that are ending. */
  readonly #leaving = new Set<Pg.PoolClient>()
  /** Number of times that the server was lost. */
  #losses = 0

  constructor(config: Pg.PoolConfig) {
    super(config)
    // An idle connection that breaks leaves the pool. Nothing else is needed.
    this.on("error", ignore)
    this.on("connect", (client) => this.#keepSlot(client))
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

const ignore = () => {}

/** Whether no statement is on its way. */
const isAnswered = (client: Pg.PoolClient): boolean =>
  Predicate.hasProperty(client, "readyForQuery") && client.readyForQuery === true

/**
 * Whether a connection may be used again: it is in no transaction either. If the client stopped waiting for `BEGIN`, the
 * server may still begin: later writes on this connection would be acknowledged, and never committed.
 */
const isAtRest = (client: Pg.PoolClient): boolean => isAnswered(client) && client.getTransactionStatus() === "I"

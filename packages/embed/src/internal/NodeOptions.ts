/** What Startlist needs of a server on Node, and what it gives back, as plain types. Imports no Effect. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Callbacks, Duration, Requirement, WebOptions, WebStartlist } from "./Options.ts"
import type { Access } from "./Plain.ts"

/** How callbacks are called from Node. */
export interface NodeCallbacks extends Callbacks {
  /** Whether only networks in `allow` may be called, and not the public internet. Default: no. */
  readonly onlyAllowed?: boolean
  /** Certificate authorities in PEM to trust besides those that Node trusts. Default: none. */
  readonly ca?: ReadonlyArray<string>
}

/** PostgreSQL 15 or newer. Startlist creates its tables, whose names begin with `prefix`. */
export interface PostgresServer {
  /**
   * `postgres://user:password@host:port/database?sslmode=…`. With several servers (`host1:port,host2:port`), connections
   * use the one that takes writes.
   */
  readonly url: string
  /** Maximum number of connections. Default: 10. */
  readonly maxConnections?: number
  /** Set it to false behind a pooler in transaction mode. Default: true. */
  readonly preparedStatements?: boolean
  /** Prefix of every table name. Default: `startlist_`. */
  readonly prefix?: string
}

/** A database in a folder of this machine, for one process. Needs the package `@electric-sql/pglite`. */
export interface DatabaseFolder {
  /** The data folder. It is created if it is missing. */
  readonly folder: string
}

/** What Startlist needs of your server. */
export interface Options extends WebOptions {
  /** Where Startlist stores its records, with `key`. Default: in memory, until the process ends. */
  readonly database?: PostgresServer | DatabaseFolder
  readonly callbacks?: NodeCallbacks
  /** Time limit of a request, and maximum number of parallel requests of `listener`. The server of `handler` sets its own. */
  readonly limits?: { readonly timeout?: Duration; readonly capacity?: number }
}

/** Startlist in your server. */
export interface Startlist extends WebStartlist {
  /** For `http.createServer`, `app.use` of Express, or the raw request and response of Fastify. */
  readonly listener: RequestListener
  /** Guards your own route in `node:http` or Express, like `guardHandler` for Web requests. */
  readonly guardListener: <Incoming extends IncomingMessage, Outgoing extends ServerResponse>(
    requirement: Requirement,
    handle: (incoming: Incoming, outgoing: Outgoing, access: Access) => unknown
  ) => (incoming: Incoming, outgoing: Outgoing) => Promise<void>
}

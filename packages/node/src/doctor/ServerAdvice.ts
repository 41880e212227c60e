/** Advice by what PostgreSQL, a pooler or the network says. */
import { tooSlow } from "../data/DatabaseHealth.ts"

/** The first that matches counts. */
const advices: ReadonlyArray<readonly [said: RegExp, advice: string]> = [
  [
    new RegExp(tooSlow),
    "look for a synchronous standby that is missing (synchronous_standby_names), a lock, or a server that is overloaded"
  ],
  [/No space left|disk/i, "free space on the disk of the database"],
  [
    /permission denied/,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO this user"
  ],
  [
    /no writes|read-only/,
    "name the primary in DATABASE_URL, not a standby; or set default_transaction_read_only = off"
  ],
  [/PREPARED_STATEMENTS/, "or use the pooler in session mode, which is faster"],
  [/has the encoding/, "then move the data with pg_dump and psql, and name the new database in DATABASE_URL"],
  [/transactions of the database are/, "run this statement, then reconnect the pooler to the database"],
  [
    /unsupported startup parameter/,
    "remove this parameter from DATABASE_URL, and set it for the user: ALTER ROLE … SET …"
  ],
  [
    /too many (?:clients|connections)|connection slots are reserved|no more connections allowed/,
    "lower DATABASE_CONNECTIONS of every process, raise max_connections of the server, or use a pooler"
  ],
  [/^(?:\w+: )*ssl\w+: /, "correct this path in DATABASE_URL, and let this user read the file"],
  [
    /certificate|altnames/i,
    "name the certificate of the authority of the server with sslrootcert in DATABASE_URL, and the host as in the server's certificate"
  ],
  [
    /does not support SSL/,
    "set ssl = on at the server, or sslmode=disable in DATABASE_URL on a network that you trust"
  ],
  [/password|role|authentication/i, "correct the user and password in DATABASE_URL"],
  [/does not exist/i, "create the database, or correct its name in DATABASE_URL"]
]

/** Advice for an error of the server, by its message. */
export const adviceForServer = (message: string): string =>
  advices.find(([said]) => said.test(message))?.[1] ??
    "start PostgreSQL; check host, port and sslmode in DATABASE_URL, and the firewall"

/** Migrations of the tables. They only add, so that older programs still work during an upgrade. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import type { SqlError } from "@effect/sql/SqlError"
import * as Server from "./dialect/server.ts"
import { settleFunction } from "./queue.ts"

/** One migration. */
export interface Migration {
  readonly run: Effect.Effect<void, SqlError, SqlClient.SqlClient>
  /**
   * The table of earlier migrations whose definition it changes. It is locked first. A migration that locks another
   * table fails: use one migration per table.
   */
  readonly changes?: string
  /**
   * The migration takes longer than requests can wait. It runs outside of a transaction, locks nothing that requests
   * need, and is repeatable after any interruption: an index by `index`, or changes of rows in batches.
   */
  readonly slow?: boolean
  /** Older programs do not support the result: they do not start, and are no longer ready. Default: false. */
  readonly breaking?: boolean
}

/**
 * `0001`: all tables. Rows begin with their application or grant, by which tables can be distributed. No foreign keys:
 * embedders store users elsewhere, and each key would lock one more row per save. Instants are whole milliseconds since
 * 1970. Tokens, codes and client secrets are stored as hashes; signing secrets are sealed.
 */
const initial = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE ${p}users (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    role text NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,
    first_name text NOT NULL,
    last_name text NOT NULL
  )`,
  `CREATE TABLE ${p}applications (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version integer NOT NULL,
    owner_id bigint NOT NULL,
    name text NOT NULL,
    redirect_uris json NOT NULL,
    require_pkce boolean NOT NULL,
    secrets json NOT NULL,
    created_at bigint NOT NULL,
    signing_version integer NOT NULL,
    signing_secrets json NOT NULL,
    state "char" NOT NULL DEFAULT 'a',
    epoch integer NOT NULL DEFAULT 0,
    links json
  )`,
  // For claims, which exclude suspended and paused subscriptions: usually there are none.
  `CREATE INDEX ${p}applications_suspended ON ${p}applications (id) WHERE state = 's'`,
  `CREATE INDEX ${p}applications_owner ON ${p}applications (owner_id, id)`,
  // With 20 access tokens, a row is three to four times as large as at first. The fill factor leaves room for this and for HOT
  // updates. Columns that every refresh changes are last, because PostgreSQL logs an update from its first changed
  // byte. Tokens stay in the row uncompressed: compression would cost more than the rest of the update.
  `CREATE TABLE ${p}grants (
    application_id bigint NOT NULL,
    user_id bigint NOT NULL,
    application_epoch integer NOT NULL DEFAULT 0,
    active boolean NOT NULL,
    consent json NOT NULL,
    codes json,
    access text NOT NULL,
    refresh text,
    generation integer NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (application_id, user_id)
  ) WITH (fillfactor = 20, toast_tuple_target = 8160)`,
  `CREATE INDEX ${p}grants_user ON ${p}grants (user_id, application_id) WHERE active`,
  `CREATE TABLE ${p}subscriptions (
    application_id bigint NOT NULL PRIMARY KEY,
    id bigint GENERATED ALWAYS AS IDENTITY,
    version integer NOT NULL,
    callback_url text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    paused boolean NOT NULL DEFAULT false,
    UNIQUE (id, application_id)
  )`,
  `CREATE INDEX ${p}subscriptions_paused ON ${p}subscriptions (id) WHERE paused`,
  `CREATE TABLE ${p}registrations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version integer NOT NULL,
    athlete_id bigint NOT NULL,
    organizer_id bigint,
    club_id bigint,
    platform_user_id bigint,
    updates json NOT NULL
  )`,
  `CREATE INDEX ${p}registrations_athlete ON ${p}registrations (athlete_id)`,
  // Each delivery has its own copy of its event: everything of an application is in its own rows, and a purge is one
  // DELETE. The columns of the event are first, because they do not change.
  //
  // `head`: only such a delivery can be the first pending one of its ordering key (subscription and object).
  //
  // A claim updates neighbouring rows. The fill factor leaves room for the new versions on the same page, so that no
  // index changes (HOT), which would be a quarter of the cost of a claim.
  //
  // Ended deliveries leave dead entries at the front of the indexes that claims scan. So vacuum after a fixed number of
  // changes, not after a fifth of the history, and always clean the indexes.
  `CREATE TABLE ${p}deliveries (
    application_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    subscription_id bigint NOT NULL,
    object_id bigint NOT NULL,
    event_time bigint NOT NULL,
    object_type "char" NOT NULL,
    aspect_type "char" NOT NULL,
    event_id text NOT NULL,
    updates json,
    trace text,
    due_at bigint NOT NULL,
    ended_at bigint,
    lease_ends bigint,
    claims integer NOT NULL DEFAULT 0,
    state "char" NOT NULL,
    head boolean NOT NULL,
    claim_token text,
    log_position bigint,
    attempts json,
    PRIMARY KEY (id, application_id)
  ) WITH (
    fillfactor = 45, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_index_cleanup = on
  )`,
  // Unique, so that PostgreSQL treats `state` as part of a key: an update that ends a delivery waits for saves that
  // lock the head of its ordering key, and settling needs no lock of its own.
  `CREATE UNIQUE INDEX ${p}deliveries_application ON ${p}deliveries (application_id, state, id)`,
  // As text: otherwise the planner could use this index to read one ordering key, and scan all pending deliveries,
  // while the statistics know of no pending delivery yet.
  `CREATE INDEX ${p}deliveries_state ON ${p}deliveries ((state::text), id)`,
  `CREATE INDEX ${p}deliveries_lane ON ${p}deliveries (subscription_id, object_type, object_id, id) WHERE state = 'p'`,
  `CREATE INDEX ${p}deliveries_due ON ${p}deliveries (subscription_id, due_at, id) WHERE state = 'p' AND head`,
  `CREATE INDEX ${p}deliveries_ended ON ${p}deliveries (ended_at) WHERE ended_at IS NOT NULL`,
  // For saves: finds the pending heads of an object in one scan instead of one per subscription.
  `CREATE INDEX ${p}deliveries_heads ON ${p}deliveries (object_id, object_type, id) WHERE state = 'p' AND head`,
  // For claims: finds the earliest due heads in one scan instead of one per subscription.
  `CREATE INDEX ${p}deliveries_earliest ON ${p}deliveries (due_at, id) WHERE state = 'p' AND head`,
  // Deliveries get their position in the event log when they are first read: see eventLog.ts.
  `CREATE SEQUENCE ${p}log_positions`,
  `CREATE INDEX ${p}deliveries_log ON ${p}deliveries (application_id, log_position, id)`,
  settleFunction(Server.make(p))
]

/** Settings of tables whose rows change often: vacuum after a fiftieth of the rows instead of a fifth. */
const vacuumOften = (table: string): string => `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.02)`

/** `0002`: autovacuum for rows that change often. These statements block only other vacuums. */
const autovacuum = (p: string): ReadonlyArray<string> => [
  vacuumOften(`${p}grants`),
  vacuumOften(`${p}registrations`)
]

/** `0003`: the order of events about one object. A node of an earlier version saves 0. */
const eventOrder = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}deliveries ADD COLUMN sequence bigint NOT NULL DEFAULT 0`
]

/**
 * `0004`: finds the repeats of a delivery, which have position 0 in the log, and the newest delivered event of an object.
 * Requests wait for it, about two seconds for a million deliveries.
 */
const repeats = (p: string): ReadonlyArray<string> => [
  `CREATE INDEX ${p}deliveries_repeats ON ${p}deliveries (application_id, event_id, id) WHERE log_position = 0`,
  `CREATE INDEX ${p}deliveries_newest ON ${p}deliveries (subscription_id, object_id, sequence) WHERE state = 'd'`
]

/** `0005`: the fingerprint of the client secret with which an application was registered, so that it registers once. */
const firstSecret = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}applications ADD COLUMN first_secret text`,
  `CREATE UNIQUE INDEX ${p}applications_first_secret ON ${p}applications (first_secret)`
]

/** `0006`: the users with grants or registrations, and those who were erased. */
const people = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE ${p}people (user_id bigint PRIMARY KEY, erased_at bigint)`
]

/** `0007`: whether an operator has paused a subscription. */
const pausedByOperator = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}subscriptions ADD COLUMN paused_by_operator boolean NOT NULL DEFAULT false`
]

/** `0008`: the maximum number of requests of an application in a minute. */
const requestLimits = (p: string): ReadonlyArray<string> => [
  `ALTER TABLE ${p}applications ADD COLUMN requests_per_minute integer`
]

/**
 * `0009`: the fingerprints of the tokens of a former server, until they expire, and the subscriptions that were imported,
 * also those that were removed since.
 */
const imports = (p: string): ReadonlyArray<string> => [
  `CREATE TABLE ${p}imported_tokens (
    hash text COLLATE "C" PRIMARY KEY,
    kind "char" NOT NULL,
    application_id bigint NOT NULL,
    user_id bigint NOT NULL,
    expires_at bigint NOT NULL
  )`,
  `CREATE INDEX ${p}imported_tokens_user ON ${p}imported_tokens (user_id)`,
  `CREATE INDEX ${p}imported_tokens_end ON ${p}imported_tokens (expires_at)`,
  `CREATE TABLE ${p}imported_subscriptions (id bigint PRIMARY KEY)`
]

/** The statements of each migration by number and name, in order. `prefix` begins every name. */
const steps: Readonly<Record<string, (prefix: string) => ReadonlyArray<string>>> = {
  "0001_initial": initial,
  "0002_autovacuum": autovacuum,
  "0003_event_order": eventOrder,
  "0004_repeats": repeats,
  "0005_first_secret": firstSecret,
  "0006_people": people,
  "0007_paused_by_operator": pausedByOperator,
  "0008_request_limits": requestLimits,
  "0009_imports": imports
}

/** Tables of earlier steps whose definition a step changes. */
const changed: Readonly<Record<string, string>> = {
  "0003_event_order": "deliveries",
  "0004_repeats": "deliveries",
  "0005_first_secret": "applications",
  "0007_paused_by_operator": "subscriptions",
  "0008_request_limits": "applications"
}

/** Changes with the schema, or with the name of a migration. */
export const fingerprint = Object.entries(steps).flatMap(([name, step]) => [name, ...step("")]).join(";")

const statements = (texts: ReadonlyArray<string>): Effect.Effect<void, SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.forEach(texts, (text) => sql.unsafe(text), { discard: true })
  )

/** Keyed by number and name, in order. */
export const migrations = (prefix: string): Readonly<Record<string, Migration>> =>
  Record.map(steps, (step, name) => {
    const table = changed[name]
    return { run: statements(step(prefix)), ...(table === undefined ? {} : { changes: `${prefix}${table}` }) }
  })

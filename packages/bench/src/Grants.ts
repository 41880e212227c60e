/** Grants in bulk: as many as are wanted, in the tables of the stores, each with a refresh and an access token. */
import { TokenHash } from "@startlist/core/Secrets"
import { trusted } from "@startlist/core/Store"
import * as Postgres from "@startlist/postgres/Postgres"
import { Effect, Redacted } from "effect"
import { hash } from "node:crypto"
import type * as Database from "./Database.ts"
import { lifetimes, scope } from "./Protocol.ts"

/** The one application of all grants. */
export const applicationId = 1

/** The fingerprint of a token, in as many characters as real ones have: computed alike here and in SQL. */
export const hashOf = (kind: "a" | "r", user: number, version: number): TokenHash =>
  trusted(TokenHash, `${kind}${hash("md5", `${user}-${version}`)}0000000000`)

const sqlHashOf = (kind: "a" | "r", user: string, version: string): string =>
  `'${kind}' || md5((${user})::text || '-' || (${version})::text) || '0000000000'`

/** Makes the tables of the stores in a fresh database. */
export const migrate = (url: string): Promise<void> => Effect.runPromise(Postgres.migrate({ url: Redacted.make(url) }))

/** Users 1 to `count`, each with a grant to the one application. */
export const fill = (count: number) => async ({ query, settle, url }: Database.Fresh): Promise<void> => {
  await migrate(url)
  const now = Date.now()
  const users = `generate_series(1, ${count}) AS i`
  await query(`INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
    SELECT 'athlete', 'athlete' || i || '@example.test', 'athlete' || i || '@example.test', 'Ada', 'Runner' FROM ${users}`)
  await query(
    `INSERT INTO startlist_applications (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at)
    VALUES (1, 1, 'Benchmark', '[]', false, '[]', ${now})`
  )
  await query(`INSERT INTO startlist_grants
      (application_id, user_id, version, active, role, scope, epoch, generation, granted_at, issued_at)
    SELECT ${applicationId}, i, 1, true, 'athlete', '["${scope}"]', 1, 1, ${now}, ${now} FROM ${users}`)
  await query(`INSERT INTO startlist_refresh_tokens (application_id, user_id, hash, epoch, generation, expires_at)
    SELECT ${applicationId}, i, ${sqlHashOf("r", "i", "1")}, 1, 1, ${now + lifetimes.refresh * 1000} FROM ${users}`)
  await query(`INSERT INTO startlist_access_tokens (application_id, user_id, hash, epoch, scope, created_at, expires_at)
    SELECT ${applicationId}, i, ${sqlHashOf("a", "i", "1")}, 1, '["${scope}"]', ${now}, ${now + lifetimes.access * 1000}
    FROM ${users}`)
  await settle()
}

/** What rotates a refresh token, for one grant: the single-row form of the statement of the stores. */
export const rotation = (parameter: (name: "user" | "version" | "now" | "access" | "refresh") => string): string => `
WITH saved AS (
  UPDATE startlist_grants SET version = ${parameter("version")}::int + 1, active = true, role = 'athlete',
    scope = '["${scope}"]', epoch = 1, generation = ${parameter("version")}::int + 1, granted_at = ${
  parameter("now")
}::bigint,
    issued_at = ${parameter("now")}::bigint
  WHERE application_id = ${applicationId} AND user_id = ${parameter("user")}::bigint
    AND version = ${parameter("version")}::int
  RETURNING application_id, user_id
), access AS (
  INSERT INTO startlist_access_tokens (application_id, user_id, hash, epoch, scope, created_at, expires_at)
  SELECT application_id, user_id, ${parameter("access")}, 1, '["${scope}"]', ${parameter("now")}::bigint,
    ${parameter("now")}::bigint + ${lifetimes.access * 1000} FROM saved
), refresh AS (
  INSERT INTO startlist_refresh_tokens (application_id, user_id, hash, epoch, generation, expires_at)
  SELECT application_id, user_id, ${parameter("refresh")}, 1, ${parameter("version")}::int + 1,
    ${parameter("now")}::bigint + ${lifetimes.refresh * 1000} FROM saved
)
SELECT application_id, user_id FROM saved`

const grantColumns = `g.application_id, g.user_id, g.version, g.active, g.role, g.scope AS grant_scope,
  g.epoch AS grant_epoch, g.generation AS grant_generation, g.granted_at, g.issued_at`

/** What finds a token and its grant. */
export const find = (table: "access_tokens" | "refresh_tokens", hash: string): string => `
SELECT c.hash, c.epoch, c.expires_at, ${table === "access_tokens" ? "c.scope, c.created_at" : "c.generation"},
  ${grantColumns}
FROM startlist_${table} c JOIN startlist_grants g ON g.application_id = c.application_id AND g.user_id = c.user_id
WHERE c.hash = ${hash}`

/** What finds an application. */
export const findApplication = (id: string): string =>
  `SELECT id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at
FROM startlist_applications WHERE id = ${id}`

/** `\gset` fails unless one row is answered. */
const checked = (statement: string): string => `${statement} \\gset found_`

/** Each caller has a grant of its own; `:v` is its version. */
const ownGrant = "\\set who :client_id * 10 + 1\n"
const rotate = checked(rotation((name) =>
  ({
    user: ":who",
    version: ":v",
    now: ":now",
    access: sqlHashOf("a", ":who", ":v + 1"),
    refresh: sqlHashOf("r", ":who", ":v + 1")
  })[name]
))
const anyGrant = "\\set who random(1, :users)\n"
const findAccess = checked(find("access_tokens", sqlHashOf("a", ":who", "1")))

/** Scripts for pgbench, for grants that `fill` made. */
export const scripts = {
  rotation: `${ownGrant}${rotate}\n\\set v :v + 1\n`,
  refresh: `${ownGrant}${checked(findApplication(`${applicationId}`))}
${checked(find("refresh_tokens", sqlHashOf("r", ":who", ":v")))}\n${rotate}\n\\set v :v + 1\n`,
  bearer: `${anyGrant}${findAccess}\n`,
  bearerAndUser: `${anyGrant}${findAccess}
${checked("SELECT id, role, email, first_name, last_name FROM startlist_users WHERE id = :who")}\n`
}

/** So many grants are there in all scenarios but the growth. */
export const usual = 10_000

/** What the scripts need. */
export const variables = { v: 1, now: Date.now(), users: usual }

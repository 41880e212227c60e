/** Inserts grants in bulk in the tables of the stores, each with a refresh token and an access token. */
import { Fingerprint } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import * as Postgres from "@startlist/postgres/Postgres"
import { Effect, Redacted } from "effect"
import { hash } from "node:crypto"
import type * as Database from "./Database.ts"
import { lifetimes, scope } from "./Protocol.ts"

/** The application of all grants. */
export const applicationId = 1

/** Length of a hash in characters. */
const length = 22

/** A hash of a token with the length of a real one, computed in the same way as in SQL. */
export const hashOf = (kind: "a" | "r", user: number, version: number): Fingerprint =>
  unsafeBrand(Fingerprint, `${kind}${hash("md5", `${user}-${version}`)}`.slice(0, length))

const sqlHashOf = (kind: "a" | "r", user: string, version: string): string =>
  `left('${kind}' || md5((${user})::text || '-' || (${version})::text), ${length})`

/** Creates the tables of the stores in a fresh database. */
export const migrate = (url: string): Promise<void> => Effect.runPromise(Postgres.migrate({ url: Redacted.make(url) }))

/** Number of live access tokens in a grant that is refreshed all the time (`Policy.maxAccessTokens`). */
const liveTokens = 20

/** A salt with the length of a real one. */
export const salt = "0".repeat(22)

/** First consent of all grants, in milliseconds: refreshing does not change it. */
const grantedAt = Date.UTC(2026, 0, 1)

/** The access tokens begin with their common lifetime and scope (`accessColumn.ts`). */
const terms = `\n ${(lifetimes.access * 1000).toString(36)} ${scope}\n`

/** The creation of an access token, which follows its hash: for the oldest the time, for others since the one before. */
const createdAt = (millis: number): string => ` ${millis.toString(36)}`

/** The column with values that rarely change. */
const consent = JSON.stringify({ role: "athlete", scope: [scope], epoch: 1, at: grantedAt })

/** The column of the refresh token, as SQL of its hash: times of issue and expiry in base 36. */
const sqlRefresh = (hash: string): string => {
  const now = Date.now()
  return `${hash}::text || ' ${salt} ${now.toString(36)} ${(now + lifetimes.refresh * 1000).toString(36)}'`
}

/** Users 1 to `count`, each with a grant to the one application. */
export const fill = (count: number) => async ({ query, settle, url }: Database.Fresh): Promise<void> => {
  await migrate(url)
  const now = Date.now()
  const users = `generate_series(1, ${count}) AS i`
  await query(`INSERT INTO startlist_users (role, email, email_key, first_name, last_name)
    SELECT 'athlete', 'athlete' || i || '@example.test', 'athlete' || i || '@example.test', 'Ada', 'Runner' FROM ${users}`)
  await query(
    `INSERT INTO startlist_applications
      (version, owner_id, name, redirect_uris, require_pkce, secrets, created_at, signing_version, signing_secrets)
    VALUES (1, 1, 'Benchmark', '[]', false, '[]', ${now}, 1, '[]')`
  )
  await query(`INSERT INTO startlist_grants
      (application_id, user_id, active, consent, access, refresh, generation, version)
    SELECT ${applicationId}, i, true, '${consent}', '${terms}' || ${sqlHashOf("a", "i", "1")} || '${createdAt(now)}',
      ${sqlRefresh(sqlHashOf("r", "i", "1"))}, 1, 1 FROM ${users}`)
  await settle()
}

const createdLater = createdAt(1000)

const middleTokens = Array.from({ length: liveTokens - 2 }, (_, index) => `\n${hashOf("a", 0, index)}${createdLater}`)

/**
 * The text between the oldest and the newest access token of a grant in use. Each rotation removes the oldest one, so
 * PostgreSQL logs the list from its start. For the same effect, the oldest one also changes here.
 */
const betweenTokens = `${createdAt(Date.now() - liveTokens * 1000)}${middleTokens.join("")}\n`

/** The access tokens that a grant has at a version. */
export const accessOf = (user: number, version: number): string =>
  `${terms}${hashOf("a", user, version - 1)}${betweenTokens}${hashOf("a", user, version)}${createdLater}`

/** The statement that rotates the refresh token of one grant: the single-row form of the stores' statement. */
export const rotation = (parameter: (name: "user" | "version" | "access" | "refresh") => string): string => `
UPDATE startlist_grants SET active = true, consent = '${consent}', codes = NULL, access = ${parameter("access")},
  refresh = ${sqlRefresh(parameter("refresh"))},
  generation = ${parameter("version")}::int + 1, version = ${parameter("version")}::int + 1
WHERE application_id = ${applicationId} AND user_id = ${parameter("user")}::bigint
  AND version = ${parameter("version")}::int
RETURNING application_id, user_id`

/** The statement that finds a grant, with the state of its application. */
export const find = (user: string): string => `
SELECT g.application_id, g.user_id, g.active, g.consent, g.codes, g.access, g.refresh, g.generation, g.version,
  a.version AS application_version, a.state, a.epoch
FROM startlist_grants g JOIN startlist_applications a ON a.id = g.application_id
WHERE g.application_id = ${applicationId} AND g.user_id = ${user}`

/** `\gset` fails unless the statement returns one row. */
const checked = (statement: string): string => `${statement} \\gset found_`

/** Each caller has its own grant, with version `:v`. */
const ownGrant = "\\set who :client_id * 10 + 1\n"
const rotate = checked(rotation((name) =>
  ({
    user: ":who",
    version: ":v",
    access: `'${terms}' || ${sqlHashOf("a", ":who", ":v")} || '${betweenTokens}' ||
      ${sqlHashOf("a", ":who", ":v + 1")} || '${createdLater}'`,
    refresh: sqlHashOf("r", ":who", ":v + 1")
  })[name]
))
const anyGrant = "\\set who random(1, :users)\n"
const findGrant = checked(find(":who"))

/** Scripts for pgbench, for grants of `fill`. */
export const scripts = {
  rotation: `${ownGrant}${rotate}\n\\set v :v + 1\n`,
  refresh: `${ownGrant}${findGrant}\n${rotate}\n\\set v :v + 1\n`,
  bearer: `${anyGrant}${findGrant}\n`,
  bearerAndUser: `${anyGrant}${findGrant}
${checked("SELECT id, role, email, first_name, last_name FROM startlist_users WHERE id = :who")}\n`
}

/** Number of grants in all scenarios except the growth. */
export const usual = 10_000

/** Variables of the scripts. */
export const variables = { v: 1, users: usual }

/** Imported records. Concurrent finds of tokens are batched, and so are concurrent saves of grants. */
import { ApplicationNotFound, type ApplicationStore } from "@startlist/core/Application"
import { first } from "@startlist/core/ApplicationSecret"
import type { Change } from "@startlist/core/Grant"
import type { ImportedToken, ImportStore } from "@startlist/core/ImportStore"
import type { Fingerprint } from "@startlist/core/Secrets"
import { Conflict, type StoreError } from "@startlist/core/Store"
import { AlreadySubscribed } from "@startlist/core/Subscription"
import { UserErased, type UserId } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import type { Seal } from "../Seal.ts"
import * as Batch from "./batch.ts"
import { type Grants, textOf } from "./grantStore.ts"
import { holdPeople } from "./personStore.ts"
import { partyColumns } from "./registrationStore.ts"
import {
  applicationParameters,
  type Int8,
  millisOf,
  sealedOf,
  stateLetterOf,
  toApplicationId,
  toFingerprint,
  toInstant,
  toUserId
} from "./rows.ts"

/** Tables whose identifiers an import can give. */
type Numbered = "applications" | "registrations" | "subscriptions" | "users"

/**
 * Lets new identifiers of a table continue after this one. Call it in the transaction that inserts the row: one import at a
 * time, so that none puts a sequence back.
 */
export const pass = (
  { prefix: p, query }: Database.Service,
  table: Numbered,
  id: number
): Effect.Effect<void, StoreError> => {
  const sequence = `${p}${table}_id_seq`
  const lock = {
    name: `${p}import_lock`,
    text: `SELECT pg_advisory_xact_lock(hashtextextended('${p}imports', 0))::text`
  }
  const advance = {
    name: `${p}import_advance_${table}`,
    text: `SELECT setval('${sequence}', $1::bigint) FROM ${sequence} WHERE last_value < $1::bigint OR NOT is_called`
  }
  return Effect.asVoid(Effect.zipRight(query(lock, []), query(advance, [id])))
}

interface ImportedGrant {
  readonly change: Change
  readonly tokens: ReadonlyArray<ImportedToken>
}

interface TokenRow {
  readonly hash: string
  readonly kind: "a" | "r"
  readonly application_id: Int8
  readonly user_id: Int8
  readonly expires_at: Int8
}

const toToken = (row: TokenRow): ImportedToken => ({
  hash: toFingerprint(row.hash),
  kind: row.kind === "a" ? "access" : "refresh",
  applicationId: toApplicationId(row.application_id),
  userId: toUserId(row.user_id),
  expiresAt: toInstant(row.expires_at)
})

const tokenColumns: ReadonlyArray<Batch.Column<ImportedToken>> = [
  ["hash", "text", ({ hash }) => hash],
  ["kind", "\"char\"", ({ kind }) => kind === "access" ? "a" : "r"],
  ["application_id", "bigint", ({ applicationId }) => applicationId],
  ["user_id", "bigint", ({ userId }) => userId],
  ["expires_at", "bigint", ({ expiresAt }) => millisOf(expiresAt)]
]

const tokenNames = tokenColumns.map(([name]) => name).join(", ")

export const make = (
  database: Database.Service,
  seal: Seal.Service,
  applications: ApplicationStore.Service,
  grants: Grants
): Effect.Effect<ImportStore.Service> =>
  Effect.gen(function*() {
    const { dialect, isInProcess, prefix: p, query, transaction } = database
    const { holding } = dialect.steps(database)
    const { shardOf } = dialect
    const statement = (name: string, text: string) => ({ name: `${p}import_${name}`, text })

    const hold = statement("hold", holdPeople(p, "VALUES ($1::bigint)"))
    const isHeld = (id: UserId) => Effect.map(query(hold, [id]), (rows) => rows.length > 0)

    const insertApplication = statement(
      "application",
      `INSERT INTO ${p}applications (id, version, owner_id, name, redirect_uris, require_pkce, secrets, created_at,
          signing_version, signing_secrets, links, state, epoch, requests_per_minute)
        OVERRIDING SYSTEM VALUE
        VALUES ($7::bigint, $8::integer, $1::bigint, $2::text, $3::json, $4::boolean, $5::json, $9::bigint,
          1, $10::json, $6::json, $11::"char", $12::integer, $13::integer)
        ON CONFLICT (id) DO NOTHING RETURNING id`
    )
    const insertTokens = Batch.statement(
      `${p}import_tokens`,
      (isAlone) =>
        `INSERT INTO ${p}imported_tokens (${tokenNames})
          SELECT ${tokenNames} FROM (${Batch.rowsText(tokenColumns, isAlone)}) i ON CONFLICT (hash) DO NOTHING`
    )
    const rememberSubscription = statement(
      "remember_subscription",
      `INSERT INTO ${p}imported_subscriptions (id)
        SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM ${p}subscriptions WHERE id = $1::bigint)
        ON CONFLICT DO NOTHING RETURNING id`
    )
    const findApplication = statement(
      "subscribed_application",
      `SELECT id FROM ${p}applications WHERE id = $1::bigint AND state <> 'e' ${dialect.rowLock("FOR NO KEY UPDATE")}`
    )
    const insertSubscription = statement(
      "subscription",
      `INSERT INTO ${p}subscriptions (application_id, id, version, callback_url, created_at, updated_at, paused,
          paused_by_operator)
        OVERRIDING SYSTEM VALUE
        VALUES ($1::bigint, $2::bigint, $3::integer, $4::text, $5::bigint, $6::bigint, $7::boolean, $8::boolean)
        ON CONFLICT (application_id) DO NOTHING RETURNING id`
    )
    const insertRegistration = statement(
      "registration",
      `INSERT INTO ${p}registrations (athlete_id, organizer_id, club_id, platform_user_id, updates, id, version)
        OVERRIDING SYSTEM VALUE
        VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::json, $6::bigint, $7::integer)
        ON CONFLICT (id) DO NOTHING RETURNING id`
    )
    const findTokens = Batch.statement(
      `${p}import_token_find`,
      (isAlone) => `SELECT ${tokenNames} FROM ${p}imported_tokens WHERE ${Batch.isAmong("hash", "text", isAlone)}`
    )
    const hasTokens = statement("has_tokens", `SELECT FROM ${p}imported_tokens LIMIT 1`)
    const purgeTokens = statement(
      "purge_tokens",
      `DELETE FROM ${p}imported_tokens WHERE hash IN (
        SELECT hash FROM ${p}imported_tokens WHERE expires_at <= $1::bigint LIMIT $2::integer
      ) RETURNING hash`
    )

    const findAll = (hashes: ReadonlyArray<Fingerprint>) =>
      Effect.map(query<TokenRow>(findTokens(hashes), Batch.keysParameters(hashes)), (rows) => {
        const found = new Map(rows.map((row) => [row.hash, toToken(row)]))
        return hashes.map((hash): Option.Option<ImportedToken> => Option.fromNullable(found.get(hash)))
      })

    // The grants first: they wait for erasures of their users, and an erasure waits for them and sees the tokens.
    const saveAll = (imported: ReadonlyArray<ImportedGrant>) =>
      transaction(Effect.gen(function*() {
        const saved = yield* grants.saveAll(imported.map(({ change }) => change))
        const tokens = imported.flatMap(({ tokens }, place) => saved[place] === true ? tokens : [])
        if (tokens.length > 0) yield* query(insertTokens(tokens), Batch.rowsParameters(tokenColumns, tokens))
        return saved
      }))
    const saveOne = yield* Batch.coalesce({
      isInProcess,
      run: saveAll,
      keyOf: ({ change: { grant } }: ImportedGrant) => textOf(grant),
      groupOf: shardOf && (({ change: { grant } }: ImportedGrant) => shardOf(grant.userId))
    })

    return {
      insertApplication: (application, value) =>
        transaction(Effect.gen(function*() {
          const { createdAt, epoch, id, ownerId, requestsPerMinute = null, state, version } = application
          if (!(yield* isHeld(ownerId))) return yield* new UserErased({ userId: ownerId })
          yield* pass(database, "applications", id)
          const rows = yield* query(insertApplication, [
            ...applicationParameters(application),
            id,
            version,
            millisOf(createdAt),
            sealedOf(seal, id, [{ ...first, value }]),
            stateLetterOf[state],
            epoch,
            requestsPerMinute
          ])
          return rows.length === 1
        })),
      saveGrant: (change, tokens) =>
        Effect.flatMap(saveOne({ change, tokens }), (isSaved) => isSaved ? Effect.void : new Conflict()),
      insertSubscription: (
        { applicationId, callbackUrl, createdAt, id, paused, pausedByOperator, updatedAt, version },
        signing
      ) => {
        const inserted = Effect.gen(function*() {
          yield* pass(database, "subscriptions", id)
          if ((yield* query(rememberSubscription, [id])).length === 0) return false
          if ((yield* query(findApplication, [applicationId])).length === 0) {
            return yield* new ApplicationNotFound({ applicationId })
          }
          const rows = yield* query(insertSubscription, [
            applicationId,
            id,
            version,
            callbackUrl,
            millisOf(createdAt),
            millisOf(updatedAt),
            paused,
            pausedByOperator
          ])
          if (rows.length === 0) return yield* new AlreadySubscribed()
          if (Option.isSome(signing)) yield* applications.saveSigningSecrets(signing.value)
          return true
        })
        return holding(applicationId, transaction(inserted))
      },
      insertRegistration: ({ id, parties, updates, version }) =>
        transaction(Effect.gen(function*() {
          if (!(yield* isHeld(parties.athleteId))) return yield* new Conflict()
          yield* pass(database, "registrations", id)
          const values = [...Batch.rowsParameters(partyColumns, [parties]), JSON.stringify(updates), id, version]
          return (yield* query(insertRegistration, values)).length === 1
        })),
      findToken: yield* Batch.coalesce({ isInProcess, run: findAll }),
      hasTokens: () => Effect.map(query(hasTokens, []), (rows) => rows.length > 0),
      purgeTokens: (now, limit) => Effect.map(query(purgeTokens, [millisOf(now), limit]), (rows) => rows.length)
    }
  })

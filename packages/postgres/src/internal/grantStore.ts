/** Grants and their credentials. Concurrent finds and saves are joined to one statement each. */
import type { Change, Found } from "@startlist/core/Grant"
import type { GrantStore } from "@startlist/core/GrantStore"
import type { TokenHash } from "@startlist/core/Secrets"
import { Conflict, type StoreError } from "@startlist/core/Store"
import type { AccessToken, Code, RefreshToken, Scope } from "@startlist/core/Token"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database, Statement } from "../Database.ts"
import * as Coalesce from "./coalesce.ts"
import { saver } from "./grantSave.ts"
import * as Input from "./input.ts"
import { grantColumns, type GrantRow, type Int8, millisOf, toGrant, toHash, toInstant } from "./rows.ts"

interface CredentialRow extends GrantRow {
  readonly hash: string
  readonly epoch: number
  readonly expires_at: Int8
}
interface CodeRow extends CredentialRow {
  readonly redirect_uri: string
  readonly scope: Scope
  readonly state: string | null
  readonly challenge: string | null
  readonly redeemed: boolean
}
interface RefreshRow extends CredentialRow {
  readonly generation: number
}
interface AccessRow extends CredentialRow {
  readonly scope: Scope
  readonly created_at: Int8
}

const toCode = (row: CodeRow): Code => ({
  hash: toHash(row.hash),
  epoch: row.epoch,
  redirectUri: row.redirect_uri,
  scope: row.scope,
  state: Option.fromNullable(row.state),
  challenge: Option.fromNullable(row.challenge),
  expiresAt: toInstant(row.expires_at),
  redeemed: row.redeemed
})

const toRefreshToken = (row: RefreshRow): RefreshToken => ({
  hash: toHash(row.hash),
  epoch: row.epoch,
  generation: row.generation,
  expiresAt: toInstant(row.expires_at)
})

const toAccessToken = (row: AccessRow): AccessToken => ({
  hash: toHash(row.hash),
  epoch: row.epoch,
  scope: row.scope,
  createdAt: toInstant(row.created_at),
  expiresAt: toInstant(row.expires_at)
})

const keyOf = ({ grant }: Change): string => `${grant.applicationId}:${grant.userId}`

export const make = ({ isInProcess, prefix: p, query, wake }: Database.Service): Effect.Effect<GrantStore.Service> =>
  Effect.gen(function*() {
    const find = {
      name: `${p}grant_find`,
      text: `SELECT ${grantColumns} FROM ${p}grants g WHERE g.application_id = $1::bigint AND g.user_id = $2::bigint`
    }
    const list = {
      name: `${p}grant_list`,
      text: `SELECT ${grantColumns} FROM ${p}grants g WHERE g.user_id = $1::bigint AND g.active
        ORDER BY g.granted_at, g.application_id`
    }

    /** Credentials of one kind with their grants: one statement is one snapshot. */
    const finder = <Row extends CredentialRow, Credential>(
      table: string,
      columns: string,
      toCredential: (row: Row) => Credential
    ) => {
      const statement = Input.statement(
        `${p}${table}_find`,
        (isAlone) =>
          `SELECT c.hash, c.epoch, c.expires_at, ${columns}, ${grantColumns}
          FROM ${p}${table} c JOIN ${p}grants g ON g.application_id = c.application_id AND g.user_id = c.user_id
          WHERE ${Input.isAmong("c.hash", "text", isAlone)}`
      )
      const run = (hashes: ReadonlyArray<TokenHash>) =>
        Effect.map(query<Row>(statement(hashes), Input.keysParameters(hashes)), (rows) => {
          const found = new Map<string, Found<Credential>>()
          for (const row of rows) found.set(row.hash, { grant: toGrant(row), credential: toCredential(row) })
          return hashes.map((hash) => Option.fromNullable(found.get(hash)))
        })
      return Coalesce.make({ isInProcess, run })
    }

    const toSave = saver(p)
    const saveAll = (changes: ReadonlyArray<Change>): Effect.Effect<ReadonlyArray<boolean>, StoreError> =>
      query<{ readonly application_id: Int8; readonly user_id: Int8; readonly told: number }>(...toSave(changes)).pipe(
        Effect.tap(([row]) => row !== undefined && row.told > 0 ? wake : Effect.void),
        Effect.map((saved) => {
          const keys = new Set(saved.map((row) => `${row.application_id}:${row.user_id}`))
          return changes.map((change) => keys.has(keyOf(change)))
        })
      )
    const saveOne = yield* Coalesce.make({ isInProcess, run: saveAll, keyOf })

    const purgeTable = (table: string): Statement => ({
      name: `${p}${table}_purge`,
      text: `WITH gone AS (
          DELETE FROM ${p}${table} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${p}${table} WHERE expires_at <= $1::bigint
            ORDER BY expires_at LIMIT $2::integer FOR UPDATE SKIP LOCKED
          )) RETURNING 1
        ) SELECT count(*)::integer AS count FROM gone`
    })
    const [purgeAccess, purgeRefresh, purgeCodes] = [
      purgeTable("access_tokens"),
      purgeTable("refresh_tokens"),
      purgeTable("codes")
    ]
    const purged = (statement: Statement, by: number, limit: number) =>
      limit === 0
        ? Effect.succeed(0)
        : Effect.map(query<{ readonly count: number }>(statement, [by, limit]), ([row]) => row?.count ?? 0)

    return {
      find: (applicationId, userId) =>
        Effect.map(
          query<GrantRow>(find, [applicationId, userId]),
          ([row]) => Option.map(Option.fromNullable(row), toGrant)
        ),
      findByCode: yield* finder(
        "codes",
        "c.redirect_uri, c.scope, c.state, c.challenge, c.redeemed",
        toCode
      ),
      findByRefresh: yield* finder("refresh_tokens", "c.generation", toRefreshToken),
      findByAccess: yield* finder("access_tokens", "c.scope, c.created_at", toAccessToken),
      listByUser: (userId) => Effect.map(query<GrantRow>(list, [userId]), (rows) => rows.map(toGrant)),
      save: (change) => Effect.flatMap(saveOne(change), (isSaved) => isSaved ? Effect.void : new Conflict()),
      purge: Effect.fnUntraced(function*(expiredBy, limit) {
        const by = millisOf(expiredBy)
        const access = yield* purged(purgeAccess, by, limit)
        const refresh = yield* purged(purgeRefresh, by, limit - access)
        return access + refresh + (yield* purged(purgeCodes, by, limit - access - refresh))
      })
    }
  })

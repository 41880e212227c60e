/** Grants and their credentials on SQLite. */
import { Application, type Grant, type GrantStore, Store, User } from "@startlist/core"
import { Effect, Option, Schema } from "effect"
import { enqueue } from "./Outbox.ts"
import { findOne, Row } from "./People.ts"
import * as Record from "./Record.ts"
import type { Atomically, Sql } from "./Sqlite.ts"

const Both = Schema.Struct({ grant: Schema.String, credential: Schema.String })

type Kind = "code" | "refresh" | "access"

export const makeGrants = (atomically: Atomically, wake: () => void): GrantStore.GrantStore.Service => {
  const findIn = <A>(kind: Kind, { read }: Record.Record<A>) => (hash: string) =>
    atomically(({ all }) => {
      const [found] = all(
        Both,
        `select g.record as "grant", c.record as credential
         from credentials c join grants g on g.application = c.application and g.user = c.user
         where c.kind = ? and c.hash = ?`,
        kind,
        hash
      )
      return Option.map(Option.fromNullable(found), ({ credential, grant }) => ({
        grant: Record.grant.read(grant),
        credential: read(credential)
      }))
    })

  const keep = <A extends { readonly hash: string; readonly expiresAt: { readonly epochMillis: number } }>(
    { run }: Sql,
    kind: Kind,
    { write }: Record.Record<A>,
    credential: A,
    of: { readonly applicationId: Application.ApplicationId; readonly userId: User.UserId }
  ) =>
    run(
      "insert or replace into credentials (kind, hash, application, user, expires_at, record) values (?, ?, ?, ?, ?, ?)",
      kind,
      credential.hash,
      of.applicationId,
      of.userId,
      credential.expiresAt.epochMillis,
      write(credential)
    )

  const save = (sql: Sql, { code, grant, issued, outgoing, redeemed }: Grant.Change): boolean => {
    const changed = grant.version === 1
      ? sql.run(
        `insert or ignore into grants (application, user, version, status, granted_at, record) values (?, ?, 1, ?, ?, ?)`,
        grant.applicationId,
        grant.userId,
        grant.status,
        grant.grantedAt.epochMillis,
        Record.grant.write(grant)
      )
      : sql.run(
        `update grants set version = ?, status = ?, granted_at = ?, record = ?
         where application = ? and user = ? and version = ?`,
        grant.version,
        grant.status,
        grant.grantedAt.epochMillis,
        Record.grant.write(grant),
        grant.applicationId,
        grant.userId,
        grant.version - 1
      )
    if (changed !== 1) return false
    if (Option.isSome(code)) keep(sql, "code", Record.code, code.value, grant)
    if (Option.isSome(redeemed)) {
      const query = "select record from credentials where kind = 'code' and hash = ?"
      const used = findOne(sql, Record.code, query, redeemed.value)
      if (Option.isSome(used)) keep(sql, "code", Record.code, { ...used.value, redeemed: true }, grant)
    }
    if (Option.isSome(issued)) {
      keep(sql, "access", Record.accessToken, issued.value.access, grant)
      keep(sql, "refresh", Record.refreshToken, issued.value.refresh, grant)
    }
    enqueue(sql, outgoing)
    return true
  }

  return {
    find: (applicationId, userId) =>
      atomically((sql) => {
        const query = "select record from grants where application = ? and user = ?"
        return findOne(sql, Record.grant, query, applicationId, userId)
      }),
    findByCode: findIn("code", Record.code),
    findByRefresh: findIn("refresh", Record.refreshToken),
    findByAccess: findIn("access", Record.accessToken),
    listByUser: (userId) =>
      atomically(({ all }) =>
        all(
          Row,
          "select record from grants where user = ? and status = 'active' order by granted_at, application",
          userId
        ).map(({ record }) => Record.grant.read(record))
      ),
    save: (change) =>
      atomically((sql) => save(sql, change)).pipe(
        Effect.flatMap((isSaved) => isSaved ? Effect.void : new Store.Conflict()),
        Effect.tap(wake)
      ),
    purge: (expiredBy, limit) =>
      atomically(({ run }) =>
        run(
          `delete from credentials where (kind, hash) in (
             select kind, hash from credentials where expires_at <= ? limit ?)`,
          expiredBy.epochMillis,
          limit
        )
      )
  }
}

/** Grants on SQLite: one row each, whose record holds its codes and tokens. */
import { type Grant, Store } from "@startlist/core"
import { Effect, Option } from "effect"
import { enqueue } from "./Outbox.ts"
import { findOne, Row } from "./People.ts"
import * as Record from "./Record.ts"
import { type Atomically, isErased, type Sql } from "./Sqlite.ts"

/** Writes version n over version n - 1, and version 1 where there is no row. Returns whether a row was written. */
const write = ({ run }: Sql, grant: Grant.Grant): boolean => {
  const { applicationId, grantedAt, status, userId, version } = grant
  const values = [version, status, grantedAt.epochMillis, Record.grant.write(grant), applicationId, userId]
  const statement = version === 1
    ? "insert or ignore into grants (version, status, granted_at, record, application, user) values (?, ?, ?, ?, ?, ?)"
    : `update grants set version = ?1, status = ?2, granted_at = ?3, record = ?4
       where application = ?5 and user = ?6 and version = ?1 - 1`
  return run(statement, ...values) === 1
}

export const makeGrants = (atomically: Atomically, wake: Effect.Effect<unknown>): Grant.GrantStore.Service => ({
  find: (applicationId, userId) =>
    atomically((sql) => {
      const query = "select record from grants where application = ? and user = ?"
      return Option.all({
        grant: findOne(sql, Record.grant, query, applicationId, userId),
        application: findOne(sql, Record.application, "select record from applications where id = ?", applicationId)
      })
    }),
  listByUser: (userId) =>
    atomically(({ all }) =>
      all(
        Row,
        "select record from active_grants where user = ? order by granted_at, application",
        userId
      ).map(({ record }) => Record.grant.read(record))
    ),
  listByApplication: (applicationId, limit) =>
    atomically(({ all }) =>
      all(Row, "select record from active_grants where application = ? limit ?", applicationId, limit)
        .map(({ record }) => Record.grant.read(record))
    ),
  save: ({ grant, outgoing }) =>
    atomically((sql) => {
      const isSaved = !isErased(sql, grant.userId) && write(sql, grant)
      if (isSaved) enqueue(sql, outgoing)
      return isSaved
    }).pipe(
      Effect.flatMap((isSaved) => isSaved ? Effect.void : new Store.Conflict()),
      Effect.tap(wake)
    )
})

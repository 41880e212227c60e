/** Grants. Concurrent finds are batched, and so are concurrent saves. */
import type { Change, Found, GrantStore } from "@startlist/core/Grant"
import { Conflict, type StoreError } from "@startlist/core/Store"
import type { Name } from "@startlist/core/Token"
import type { UserId } from "@startlist/core/User"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import * as Batch from "./batch.ts"
import { type GrantRow, keyColumns, toGrant, valueColumns } from "./grantRows.ts"
import type { Dialect } from "./dialect/Dialect.ts"
import { holdPeople } from "./personStore.ts"
import { outbox, outgoingParameter } from "./queue.ts"
import { type Int8, type StateLetter, toState } from "./rows.ts"
import type { Parameter, Statement } from "./statement.ts"

interface FoundRow extends GrantRow {
  readonly application_version: number
  readonly state: StateLetter
  readonly epoch: number
  readonly requests_per_minute: number | null
}

interface SavedRow {
  readonly application_id: Int8
  readonly user_id: Int8
  readonly queued: number
}

const toFound = (row: FoundRow): Found => {
  const { application_version: version, epoch, requests_per_minute: limit } = row
  const state = toState[row.state]
  return {
    grant: toGrant(row),
    application: limit === null ? { version, state, epoch } : { version, state, epoch, requestsPerMinute: limit }
  }
}

/** The branches that a batch needs. Others are omitted, because an empty branch also has a cost. */
interface Parts {
  readonly first: boolean
  readonly outgoing: boolean
}

const changeColumns = [...keyColumns, ...valueColumns].map((
  [name, type, of]
): Batch.Column<Change> => [name, type, ({ grant }) => of(grant, 0)])

const columnsOf = ({ outgoing }: Parts): ReadonlyArray<Batch.Column<Change>> =>
  outgoing ? [...changeColumns, Batch.place] : changeColumns

const partsOf = (changes: ReadonlyArray<Change>): Parts => ({
  first: changes.some(({ grant }) => grant.version === 1),
  outgoing: changes.some(({ outgoing }) => outgoing.length > 0)
})

const byKey = ({ grant: a }: Change, { grant: b }: Change): number =>
  a.applicationId - b.applicationId || a.userId - b.userId

const key = keyColumns.map(([name]) => name).join(", ")
const values = valueColumns.map(([name]) => name).join(", ")

const saveText = (dialect: Dialect, parts: Parts, isAlone: boolean): string => {
  const { ofUsers, prefix: p } = dialect
  const { first, outgoing } = parts
  const given = columnsOf(parts)
  const update = `
  UPDATE ${p}grants g SET ${valueColumns.map(([name]) => `${name} = i.${name}`).join(", ")}
  FROM input i
  WHERE i.version > 1 AND g.application_id = i.application_id AND g.user_id = i.user_id AND g.version = i.version - 1
    ${ofUsers("g.user_id", Batch.nextParameter(given, isAlone, outgoing ? 1 : 0))}
  RETURNING i.*`
  const ctes = [
    `input AS (${Batch.rowsText(given, isAlone)})`,
    outgoing && `given AS (SELECT ${Batch.nextParameter(given, isAlone)}::json AS outgoing)`,
    first ?
      `updated AS (${update}
),
inserted AS (
  INSERT INTO ${p}grants (${key}, ${values})
  SELECT ${key}, ${values} FROM input WHERE version = 1
  ON CONFLICT (${key}) DO NOTHING RETURNING ${key}
),
saved AS MATERIALIZED (
  SELECT * FROM updated UNION ALL SELECT i.* FROM input i JOIN inserted n USING (${key})
)` :
      `saved AS (${update}
)`,
    outgoing && outbox(dialect, "given", "saved")
  ]
  return `WITH ${ctes.filter(Boolean).join(",\n")}
SELECT ${key}, ${outgoing ? "(SELECT count(*) FROM queued)::integer" : "0"} AS queued FROM saved`
}

/**
 * The statement and the parameters that save a batch of changes.
 *
 * The input is sorted by key, so that all batches lock rows in the same order and cannot deadlock. The statement
 * returns the saved keys, each with its number of queued deliveries.
 */
const saver = (
  dialect: Dialect
): (changes: ReadonlyArray<Change>) => readonly [Statement, ReadonlyArray<Parameter>] => {
  const known = new Map<string, ReturnType<typeof Batch.statement>>()
  return (changes) => {
    const parts = partsOf(changes)
    const name = `${dialect.prefix}grant_save${parts.first ? "_first" : ""}${parts.outgoing ? "_outgoing" : ""}`
    const statement = known.get(name) ?? Batch.statement(name, (isAlone) => saveText(dialect, parts, isAlone))
    known.set(name, statement)
    const sorted = [...changes].sort(byKey)
    const rows = Batch.rowsParameters(columnsOf(parts), sorted)
    const outgoing = parts.outgoing ? [outgoingParameter(sorted)] : []
    const users = dialect.usersParameter(sorted.map(({ grant }) => grant.userId))
    return [statement(sorted), [...rows, ...outgoing, ...users]]
  }
}

/** The store, and its save of many. */
export interface Grants extends GrantStore.Service {
  /** Saves changes of different grants in one statement. False for each that is a `Conflict`. */
  readonly saveAll: (changes: ReadonlyArray<Change>) => Effect.Effect<ReadonlyArray<boolean>, StoreError>
}

export const textOf = ({ applicationId, userId }: Name): string => `${applicationId}:${userId}`

const columns = [...keyColumns, ...valueColumns].map(([name]) => `g.${name}`).join(", ")

export const make = (database: Database.Service): Effect.Effect<Grants> =>
  Effect.gen(function*() {
    const { dialect, isInProcess, prefix: p, query, transaction, wake } = database
    const { lookup, shardOf, usersParameter } = dialect
    const ofBatch = (isAlone: boolean) => dialect.ofUsers("g.user_id", Batch.nextParameter(keyColumns, isAlone))
    const findStatement = Batch.statement(`${p}grant_find`, (isAlone) => `
      SELECT ${columns}, a.version AS application_version, a.state, a.epoch, a.requests_per_minute FROM (${
      Batch.rowsText(keyColumns, isAlone)
    }) i
      ${
      lookup(
        "grants",
        "g",
        `g.application_id = i.application_id AND g.user_id = i.user_id ${ofBatch(isAlone)}`
      )
    }
      ${lookup("applications", "a", "a.id = i.application_id")}`)
    const findAll = (keys: ReadonlyArray<Name>): Effect.Effect<ReadonlyArray<Option.Option<Found>>, StoreError> => {
      const users = usersParameter(keys.map(({ userId }) => userId))
      return Effect.map(
        query<FoundRow>(findStatement(keys), [...Batch.rowsParameters(keyColumns, keys), ...users]),
        (rows) => {
          const found = new Map(rows.map((row) => [`${row.application_id}:${row.user_id}`, toFound(row)]))
          return keys.map((key) => Option.fromNullable(found.get(textOf(key))))
        }
      )
    }
    const findOne = yield* Batch.coalesce({
      isInProcess,
      run: findAll,
      groupOf: shardOf && (({ userId }: Name) => shardOf(userId))
    })

    const list = {
      name: `${p}grant_list`,
      text: `SELECT ${columns} FROM ${p}grants g
        JOIN ${p}applications a ON a.id = g.application_id AND a.epoch = g.application_epoch
        WHERE g.user_id = $1::bigint AND g.active
        ORDER BY (g.consent->>'at')::bigint, g.application_id`
    }

    const listOfApplication = {
      name: `${p}grant_list_application`,
      text: `SELECT ${columns} FROM ${p}applications a
        JOIN ${p}grants g ON g.application_id = a.id AND g.application_epoch = a.epoch
        WHERE a.id = $1::bigint AND g.active LIMIT $2::integer`
    }

    const toSave = saver(dialect)
    const { queueing } = dialect.steps(database)
    const hold = {
      name: `${p}grant_hold`,
      text: holdPeople(p, "SELECT DISTINCT value::bigint FROM json_array_elements_text($1::json) ORDER BY 1")
    }
    const write = (changes: ReadonlyArray<Change>) => query<SavedRow>(...toSave(changes))
    /** Leaves out the first grants of erased users. Holds the others: a later erasure waits, and sees their grants. */
    const writeFirst = (changes: ReadonlyArray<Change>, users: ReadonlyArray<UserId>) =>
      transaction(Effect.flatMap(query<{ readonly user_id: Int8 }>(hold, [JSON.stringify(users)]), (rows) => {
        const held = new Set(rows.map(({ user_id }) => Number(user_id)))
        const allowed = changes.filter(({ grant }) => grant.version > 1 || held.has(grant.userId))
        return allowed.length === 0 ? Effect.succeed([]) : write(allowed)
      }))
    const saveAll = (changes: ReadonlyArray<Change>): Effect.Effect<ReadonlyArray<boolean>, StoreError> => {
      const first = changes.flatMap(({ grant }) => grant.version === 1 ? [grant.userId] : [])
      return queueing(
        changes.flatMap(({ outgoing }) => outgoing.map(({ event }) => event)),
        first.length === 0 ? write(changes) : writeFirst(changes, first)
      ).pipe(
        Effect.tap(([row]) => row !== undefined && row.queued > 0 ? wake : Effect.void),
        Effect.map((saved) => {
          const keys = new Set(saved.map((row) => `${row.application_id}:${row.user_id}`))
          return changes.map(({ grant }) => keys.has(textOf(grant)))
        })
      )
    }
    const saveOne = yield* Batch.coalesce({
      isInProcess,
      run: saveAll,
      keyOf: ({ grant }: Change) => textOf(grant),
      groupOf: shardOf && (({ grant }: Change) => shardOf(grant.userId))
    })

    return {
      saveAll,
      find: (applicationId, userId) => findOne({ applicationId, userId }),
      listByUser: (userId) => Effect.map(query<GrantRow>(list, [userId]), (rows) => rows.map(toGrant)),
      listByApplication: (applicationId, limit) =>
        Effect.map(query<GrantRow>(listOfApplication, [applicationId, limit]), (rows) => rows.map(toGrant)),
      save: (change) => Effect.flatMap(saveOne(change), (isSaved) => isSaved ? Effect.void : new Conflict())
    }
  })

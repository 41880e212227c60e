/**
 * Registrations: the events of a change are queued in the statement that saves it. Concurrent finds and saves are joined
 * to one statement each.
 */
import type { Outgoing, Updates } from "@startlist/core/Event"
import type { PersonStore } from "@startlist/core/PersonalData"
import { type Parties, Registration, RegistrationId, type RegistrationStore } from "@startlist/core/Registration"
import { Conflict, unsafeBrand } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import * as Batch from "./batch.ts"
import { outbox, outgoingParameter } from "./queue.ts"
import { holdPeople } from "./personStore.ts"
import { type Int8, toUserId } from "./rows.ts"

interface RegistrationRow {
  readonly id: Int8
  readonly version: number
  readonly athlete_id: Int8
  readonly organizer_id: Int8 | null
  readonly club_id: Int8 | null
  readonly platform_user_id: Int8 | null
  readonly updates: Updates
}

const toParty = (id: Int8 | null) => Option.map(Option.fromNullable(id), toUserId)

const toRegistration = (row: RegistrationRow): Registration => ({
  id: unsafeBrand(RegistrationId, Number(row.id)),
  version: row.version,
  parties: {
    athleteId: toUserId(row.athlete_id),
    organizerId: toParty(row.organizer_id),
    clubId: toParty(row.club_id),
    platformUserId: toParty(row.platform_user_id)
  },
  updates: row.updates
})

const columns = "id, version, athlete_id, organizer_id, club_id, platform_user_id, updates"

export const partyColumns: ReadonlyArray<Batch.Column<Parties>> = [
  ["athlete_id", "bigint", ({ athleteId }) => athleteId],
  ["organizer_id", "bigint", ({ organizerId }) => Option.getOrNull(organizerId)],
  ["club_id", "bigint", ({ clubId }) => Option.getOrNull(clubId)],
  ["platform_user_id", "bigint", ({ platformUserId }) => Option.getOrNull(platformUserId)]
]

/** One save: a registration at its next version, and the events that it causes. */
interface Change {
  readonly next: Registration
  readonly outgoing: ReadonlyArray<Outgoing>
}

const changeColumns: ReadonlyArray<Batch.Column<Change>> = [
  Batch.place,
  ["id", "bigint", ({ next }) => next.id],
  ["version", "integer", ({ next }) => next.version],
  ...partyColumns.map((
    [name, type, of]
  ): Batch.Column<Change> => [name, type, ({ next }, place) => of(next.parties, place)]),
  ["updates", "json", ({ next }) => next.updates]
]

/** This number of saves costs as much as the statement that carries them. */
const minShare = 8

const byId = (a: Change, b: Change): number => a.next.id - b.next.id

/** The registrations of an athlete, oldest first. */
export const makeListByAthlete =
  ({ prefix: p, query }: Database.Service): PersonStore.Service["registrations"] => (id) =>
    Effect.map(
      query<RegistrationRow>({
        name: `${p}person_registrations`,
        text: `SELECT ${columns} FROM ${p}registrations WHERE athlete_id = $1::bigint ORDER BY id`
      }, [id]),
      (rows) => rows.map(toRegistration)
    )

export const make = (database: Database.Service): Effect.Effect<RegistrationStore.Service> =>
  Effect.gen(function*() {
    const { dialect, isInProcess, prefix: p, query, wake } = database
    const { queueing } = dialect.steps(database)
    const find = Batch.statement(
      `${p}registration_find`,
      (isAlone) => `SELECT ${columns} FROM ${p}registrations WHERE ${Batch.isAmong("id", "bigint", isAlone)}`
    )
    const insert = {
      name: `${p}registration_insert`,
      text: `WITH held AS (${holdPeople(p, "VALUES ($1::bigint)")})
        INSERT INTO ${p}registrations (version, athlete_id, organizer_id, club_id, platform_user_id, updates)
        SELECT 1, user_id, $2::bigint, $3::bigint, $4::bigint, $5::json FROM held RETURNING ${columns}`
    }
    // Sorted by key, as grants are: rows are locked in one order. Each is judged on its own version.
    const save = Batch.statement(
      `${p}registration_save`,
      (isAlone) =>
        `WITH input AS (${Batch.rowsText(changeColumns, isAlone)}),
        given AS (SELECT ${Batch.nextParameter(changeColumns, isAlone)}::json AS outgoing),
        saved AS (
          UPDATE ${p}registrations r SET version = i.version, athlete_id = i.athlete_id,
            organizer_id = i.organizer_id, club_id = i.club_id, platform_user_id = i.platform_user_id,
            updates = i.updates
          FROM input i WHERE r.id = i.id AND r.version = i.version - 1
          RETURNING r.id, i.place
        ), ${outbox(dialect, "given", "saved")}
        SELECT id, (SELECT count(*) FROM queued)::integer AS queued FROM saved`
    )

    const findAll = (ids: ReadonlyArray<RegistrationId>) =>
      Effect.map(query<RegistrationRow>(find(ids), Batch.keysParameters(ids)), (rows) => {
        const found = new Map(rows.map((row) => [Number(row.id), row]))
        return ids.map((id) => Option.map(Option.fromNullable(found.get(id)), toRegistration))
      })
    const saveAll = (changes: ReadonlyArray<Change>) => {
      const sorted = [...changes].sort(byId)
      return queueing(
        changes.flatMap(({ outgoing }) => outgoing.map(({ event }) => event)),
        query<{ readonly id: Int8; readonly queued: number }>(save(sorted), [
          ...Batch.rowsParameters(changeColumns, sorted),
          outgoingParameter(sorted)
        ])
      ).pipe(
        Effect.tap(([row]) => row !== undefined && row.queued > 0 ? wake : Effect.void),
        Effect.map((rows) => {
          const saved = new Set(rows.map(({ id }) => Number(id)))
          return changes.map(({ next }) => saved.has(next.id))
        })
      )
    }
    const saveOne = yield* Batch.coalesce({ isInProcess, minShare, run: saveAll, keyOf: ({ next }) => String(next.id) })

    return {
      find: yield* Batch.coalesce({ isInProcess, run: findAll }),
      insert: ({ parties, updates }) =>
        Effect.flatMap(
          query<RegistrationRow>(insert, [...Batch.rowsParameters(partyColumns, [parties]), JSON.stringify(updates)]),
          ([row]) => row ? Effect.succeed(toRegistration(row)) : new Conflict()
        ),
      save: (next, outgoing) =>
        Effect.flatMap(saveOne({ next, outgoing }), (isSaved) => isSaved ? Effect.void : new Conflict())
    }
  })

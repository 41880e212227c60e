/** Registrations: the events of a change are queued in the statement that saves it. */
import type { Updates } from "@startlist/core/Event"
import { type Parties, Registration, RegistrationId, type RegistrationStore } from "@startlist/core/Registration"
import { Conflict } from "@startlist/core/Store"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Database } from "../Database.ts"
import { outbox, outgoingOf } from "./outbox.ts"
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

const toRegistration = (row: RegistrationRow): Registration =>
  new Registration({
    id: RegistrationId.make(Number(row.id), { disableValidation: true }),
    version: row.version,
    parties: {
      athleteId: toUserId(row.athlete_id),
      organizerId: toParty(row.organizer_id),
      clubId: toParty(row.club_id),
      platformUserId: toParty(row.platform_user_id)
    },
    updates: row.updates
  }, true)

const partyParameters = ({ athleteId, clubId, organizerId, platformUserId }: Parties) => [
  athleteId,
  Option.getOrNull(organizerId),
  Option.getOrNull(clubId),
  Option.getOrNull(platformUserId)
]

export const make = ({ prefix: p, query, wake }: Database.Service): RegistrationStore.Service => {
  const columns = "id, version, athlete_id, organizer_id, club_id, platform_user_id, updates"
  const find = { name: `${p}registration_find`, text: `SELECT ${columns} FROM ${p}registrations WHERE id = $1::bigint` }
  const insert = {
    name: `${p}registration_insert`,
    text: `INSERT INTO ${p}registrations (version, athlete_id, organizer_id, club_id, platform_user_id, updates)
      VALUES (1, $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::json) RETURNING ${columns}`
  }
  const save = {
    name: `${p}registration_save`,
    text: `WITH saved AS (
        UPDATE ${p}registrations SET version = $2::integer, athlete_id = $3::bigint, organizer_id = $4::bigint,
          club_id = $5::bigint, platform_user_id = $6::bigint, updates = $7::json
        WHERE id = $1::bigint AND version = $2::integer - 1
        RETURNING $8::json AS outgoing
      ), ${outbox(p, "saved")}
      SELECT (SELECT count(*) FROM told)::integer AS told FROM saved`
  }
  return {
    find: (id) =>
      Effect.map(query<RegistrationRow>(find, [id]), ([row]) => Option.map(Option.fromNullable(row), toRegistration)),
    insert: ({ parties, updates }) =>
      Effect.flatMap(
        query<RegistrationRow>(insert, [...partyParameters(parties), JSON.stringify(updates)]),
        ([row]) => row ? Effect.succeed(toRegistration(row)) : Effect.dieMessage("an insert returned nothing")
      ),
    save: ({ id, parties, updates, version }, outgoing) =>
      Effect.flatMap(
        query<{ readonly told: number }>(save, [
          id,
          version,
          ...partyParameters(parties),
          JSON.stringify(updates),
          JSON.stringify(outgoingOf(outgoing) ?? [])
        ]),
        ([row]) => row === undefined ? new Conflict() : row.told > 0 ? wake : Effect.void
      )
  }
}

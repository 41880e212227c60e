/**
 * How records look in rows. Rows are not validated again: they were when they were written, and this is the hot path.
 * The driver gives `bigint` as text, and `json` parsed.
 */
import { Application, ApplicationId, type Links } from "@startlist/core/Application"
import { Event, EventId, type Updates } from "@startlist/core/Event"
import { emptyUpdates } from "@startlist/core/Registration"
import { Fingerprint } from "@startlist/core/Secrets"
import { unsafeBrand } from "@startlist/core/Store"
import { UserId } from "@startlist/core/User"
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"

/** A `bigint`: text from a column, a number inside JSON; identifiers and instants are below 2^53. */
export type Int8 = string | number

export const toApplicationId = (id: Int8): ApplicationId => unsafeBrand(ApplicationId, Number(id))
export const toUserId = (id: Int8): UserId => unsafeBrand(UserId, Number(id))
export const toFingerprint = (hash: string): Fingerprint => unsafeBrand(Fingerprint, hash)

const utc = Object.getPrototypeOf(DateTime.unsafeMake(0))

/** Equals `DateTime.unsafeMake`, in a tenth of its time: a grant with its access tokens has up to 43 instants. */
export const toInstant = (millis: Int8): DateTime.Utc => {
  const instant = Object.create(utc)
  instant.epochMillis = Number(millis)
  return instant
}
export const toInstantOption = (millis: Int8 | null): Option.Option<DateTime.Utc> =>
  millis === null ? Option.none() : Option.some(toInstant(millis))

/** Whole milliseconds, never earlier: a jittered pause may have a fraction. */
export const millisOf = (instant: DateTime.Utc): number => Math.ceil(instant.epochMillis)
export const millisOrNull = (instant: Option.Option<DateTime.Utc>): number | null =>
  Option.isSome(instant) ? millisOf(instant.value) : null

/** The states of an application. */
export const toState = { a: "active", s: "suspended", e: "ended" } as const
export type StateLetter = keyof typeof toState
export const stateLetterOf: { readonly [State in Application["state"]]: StateLetter } = {
  active: "a",
  suspended: "s",
  ended: "e"
}

export interface ApplicationRow {
  readonly id: Int8
  readonly version: number
  readonly owner_id: Int8
  readonly name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly require_pkce: boolean
  readonly secrets: ReadonlyArray<readonly [hash: string, expiresAt: number | null, number?: number]>
  readonly created_at: Int8
  readonly state: StateLetter
  readonly epoch: number
  readonly links: Links | null
}

export const toApplication = (row: ApplicationRow): Application => ({
  id: toApplicationId(row.id),
  version: row.version,
  ownerId: toUserId(row.owner_id),
  state: toState[row.state],
  epoch: row.epoch,
  name: row.name,
  redirectUris: row.redirect_uris,
  requirePkce: row.require_pkce,
  ...(row.links === null ? {} : { links: row.links }),
  // Programs before this one stored no numbers.
  secrets: row.secrets.map(([hash, expiresAt, number], place, { length }) => ({
    number: number ?? length - place,
    hash: toFingerprint(hash),
    expiresAt: toInstantOption(expiresAt)
  })),
  createdAt: toInstant(row.created_at)
})

export const linksOf = (links: Links | undefined): string | null => links === undefined ? null : JSON.stringify(links)

export const secretsOf = (secrets: Application["secrets"]): string =>
  JSON.stringify(secrets.map(({ expiresAt, hash, number }) => [hash, millisOrNull(expiresAt), number]))

const objectTypes = { r: "registration", a: "athlete", o: "organizer" } as const
type ObjectLetter = keyof typeof objectTypes
/** The letters of the types of objects. */
export const objectLetters: { readonly [Type in Event["objectType"]]: ObjectLetter } = {
  registration: "r",
  athlete: "a",
  organizer: "o"
}

const aspectTypes = { u: "updated", d: "deleted" } as const
type AspectLetter = keyof typeof aspectTypes
const aspectLetters: { readonly [Type in Event["aspectType"]]: AspectLetter } = { updated: "u", deleted: "d" }

/** The updates of an event: without their names, which would be a third of the row. */
export type UpdatesRow = readonly [
  platformId: string,
  registrationStatus: string,
  documentType: string,
  documentStatus: string,
  reasons: ReadonlyArray<string>,
  comment: string
]

export const updatesOf = (updates: Updates): UpdatesRow => [
  updates.platform_id,
  updates.registration_status,
  updates.document_type,
  updates.document_status,
  updates.reasons,
  updates.comment
]

const toUpdates = (
  [platform_id, registration_status, document_type, document_status, reasons, comment]: UpdatesRow
): Updates => ({ platform_id, registration_status, document_type, document_status, reasons, comment })

/** The columns of an event in a row of its delivery. An erasure removes the updates. */
export interface EventRow {
  readonly event_id: string
  readonly aspect_type: AspectLetter
  readonly object_type: ObjectLetter
  readonly object_id: Int8
  readonly updates: UpdatesRow | null
  readonly event_time: Int8
  readonly trace: string | null
  readonly sequence: Int8
}

/** The names and types of these columns. */
export const eventColumns = {
  event_id: "text",
  aspect_type: "\"char\"",
  object_type: "\"char\"",
  object_id: "bigint",
  updates: "json",
  event_time: "bigint",
  trace: "text",
  sequence: "bigint"
} as const satisfies Readonly<Record<keyof EventRow, string>>

export const toEvent = (row: EventRow): Event => ({
  id: unsafeBrand(EventId, row.event_id),
  aspectType: aspectTypes[row.aspect_type],
  objectType: objectTypes[row.object_type],
  objectId: Number(row.object_id),
  updates: row.updates !== null ? toUpdates(row.updates) : row.object_type === "r" ? emptyUpdates : {},
  time: toInstant(row.event_time),
  trace: Option.fromNullable(row.trace),
  sequence: Number(row.sequence)
})

export const fromEvent = (event: Event): EventRow => ({
  event_id: event.id,
  aspect_type: aspectLetters[event.aspectType],
  object_type: objectLetters[event.objectType],
  object_id: event.objectId,
  updates: "platform_id" in event.updates ? updatesOf(event.updates) : null,
  event_time: millisOf(event.time),
  trace: Option.getOrNull(event.trace),
  sequence: event.sequence
})

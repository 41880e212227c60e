/**
 * How records look in rows. Rows are not validated again: they were when they were written, and this is the hot path.
 * The driver gives `bigint` as text, and `json` parsed.
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import { Application, ApplicationId, type Links, type SigningSecrets } from "@startlist/core/Application"
import { Event, EventId, type Updates } from "@startlist/core/Event"
import { emptyUpdates } from "@startlist/core/Registration"
import { Fingerprint } from "@startlist/core/Secrets"
import { StoreError, unsafeBrand } from "@startlist/core/Store"
import { UserId } from "@startlist/core/User"
import type { SigningSecret } from "@startlist/core/ApplicationSecret"
import { type Subscription, SubscriptionId } from "@startlist/core/Subscription"
import { type Attempt, Delivery, DeliveryId, type State } from "@startlist/core/Delivery"
import type { Seal } from "../Seal.ts"

/** A `bigint`: text from a column, a number inside JSON; identifiers and instants are below 2^53. */
export type Int8 = string | number

export const toApplicationId = (id: Int8): ApplicationId => unsafeBrand(ApplicationId, Number(id))
export const toUserId = (id: Int8): UserId => unsafeBrand(UserId, Number(id))
export const toFingerprint = (hash: string): Fingerprint => unsafeBrand(Fingerprint, hash)

/** Makes what `DateTime.unsafeMake` makes, in a twentieth of its time: a grant has up to 43 instants. */
const Instant: new(epochMillis: number) => DateTime.Utc = Object.assign(
  function(this: { epochMillis: number }, epochMillis: number) {
    this.epochMillis = epochMillis
  },
  { prototype: Object.getPrototypeOf(DateTime.unsafeMake(0)) }
) as never

export const toInstant = (millis: Int8): DateTime.Utc => new Instant(Number(millis))
const toInstantOption = (millis: Int8 | null): Option.Option<DateTime.Utc> =>
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
  readonly requests_per_minute: number | null
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
  ...(row.requests_per_minute === null ? {} : { requestsPerMinute: row.requests_per_minute }),
  // Programs before this one stored no numbers.
  secrets: row.secrets.map(([hash, expiresAt, number], place, { length }) => ({
    number: number ?? length - place,
    hash: toFingerprint(hash),
    expiresAt: toInstantOption(expiresAt)
  })),
  createdAt: toInstant(row.created_at)
})

/** The parameters $1 to $6 of each statement that writes an application. */
export const applicationParameters = (
  { links, name, ownerId, redirectUris, requirePkce, secrets }: Omit<Application, "id" | "version" | "state" | "epoch">
): ReadonlyArray<string | number | boolean | null> => [
  ownerId,
  name,
  JSON.stringify(redirectUris),
  requirePkce,
  JSON.stringify(secrets.map(({ expiresAt, hash, number }) => [hash, millisOrNull(expiresAt), number])),
  links === undefined ? null : JSON.stringify(links)
]

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
type UpdatesRow = readonly [
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

export interface SigningRow {
  readonly application_id: Int8
  readonly signing_version: number
  readonly signing_secrets: ReadonlyArray<readonly [sealed: string, expiresAt: number | null, number?: number]>
}

/** The columns of a `SigningRow`, from a table called `a`. */
export const signingColumns = "a.id AS application_id, a.signing_version, a.signing_secrets"

const ownerOf = (applicationId: Int8): string => `application:${applicationId}`

export const sealedOf = (
  seal: Seal.Service,
  applicationId: Int8,
  secrets: ReadonlyArray<SigningSecret>
): string =>
  JSON.stringify(
    secrets.map(({ expiresAt, number, value }): SigningRow["signing_secrets"][number] => [
      seal.seal(ownerOf(applicationId), value),
      millisOrNull(expiresAt),
      number
    ])
  )

/** Opens the secrets of a row: each result is a secret or an error. */
const opened = (seal: Seal.Service, { application_id, signing_secrets }: SigningRow) =>
  signing_secrets.map(([sealed, expiresAt, number], place, { length }) =>
    Either.map(
      seal.open(ownerOf(application_id), sealed),
      (value: Redacted.Redacted<string>): SigningSecret => ({
        number: number ?? length - place,
        value,
        expiresAt: toInstantOption(expiresAt)
      })
    )
  )

/** The secrets of a row without those that no key opens, so that the others can be shown and replaced. */
export const toSigningSecrets = (seal: Seal.Service) => (row: SigningRow): SigningSecrets => ({
  applicationId: toApplicationId(row.application_id),
  version: row.signing_version,
  secrets: Arr.getRights(opened(seal, row))
})

/**
 * All secrets of a row, or the error of one: events must not be sent with fewer signatures. Returns a plain value
 * instead of an effect, because a claim decodes many rows.
 */
export const toSigning =
  (seal: Seal.Service) => (row: SigningRow): Either.Either<ReadonlyArray<SigningSecret>, StoreError> =>
    Either.mapLeft(Either.all(opened(seal, row)), (cause) => new StoreError({ cause }))

export interface SubscriptionRow {
  readonly subscription_id: Int8
  readonly subscription_version: number
  readonly application_id: Int8
  readonly callback_url: string
  readonly created_at: Int8
  readonly updated_at: Int8
  readonly paused: boolean
  readonly paused_by_operator: boolean
}

/** The columns of a `SubscriptionRow`, from a table called `s`. */
export const subscriptionColumns = `s.id AS subscription_id, s.version AS subscription_version, s.application_id,
  s.callback_url, s.created_at, s.updated_at, s.paused, s.paused_by_operator`

const toSubscriptionId = (id: Int8): SubscriptionId => unsafeBrand(SubscriptionId, Number(id))

export const toSubscription = (row: SubscriptionRow): Subscription => ({
  id: toSubscriptionId(row.subscription_id),
  version: row.subscription_version,
  applicationId: toApplicationId(row.application_id),
  callbackUrl: row.callback_url,
  paused: row.paused,
  pausedByOperator: row.paused_by_operator,
  createdAt: toInstant(row.created_at),
  updatedAt: toInstant(row.updated_at)
})

export const stateLetters = { pending: "p", delivered: "d", exhausted: "x", cancelled: "c", set_aside: "s" } as const
type Letter = (typeof stateLetters)[State]
const states: Readonly<Record<Letter, State>> = {
  p: "pending",
  d: "delivered",
  x: "exhausted",
  c: "cancelled",
  s: "set_aside"
}

export type AttemptRow = readonly [
  at: number,
  durationMs: number,
  outcome: Attempt["outcome"],
  status: number | null,
  detail: string
]

export interface DeliveryRow extends EventRow {
  readonly id: Int8
  readonly application_id: Int8
  readonly subscription_id: Int8
  readonly state: Letter
  readonly due_at: Int8
  readonly ended_at: Int8 | null
  readonly attempts: ReadonlyArray<AttemptRow> | null
}

/** The columns of a `DeliveryRow`, from a table called `d`. */
export const deliveryColumns = ["id", "application_id", "subscription_id", "state", "due_at", "ended_at", "attempts"]
  .concat(Object.keys(eventColumns)).map((name) => `d.${name}`).join(", ")

export const toAttempt = ([at, durationMs, outcome, status, detail]: AttemptRow): Attempt => ({
  at: toInstant(at),
  durationMs,
  outcome,
  status: Option.fromNullable(status),
  detail
})

export const attemptsOf = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<AttemptRow> =>
  attempts.map(({ at, detail, durationMs, outcome, status }) => [
    millisOf(at),
    durationMs,
    outcome,
    Option.getOrNull(status),
    detail
  ])

export const toDeliveryId = (id: Int8): DeliveryId => unsafeBrand(DeliveryId, Number(id))

export const toDelivery = (row: DeliveryRow): Delivery => ({
  id: toDeliveryId(row.id),
  applicationId: toApplicationId(row.application_id),
  subscriptionId: toSubscriptionId(row.subscription_id),
  event: toEvent(row),
  state: states[row.state],
  attempts: (row.attempts ?? []).map(toAttempt),
  dueAt: toInstant(row.due_at),
  endedAt: toInstantOption(row.ended_at)
})

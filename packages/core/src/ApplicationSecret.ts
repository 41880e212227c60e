/** The client and signing secrets of an application. Each lives until the end promised at its replacement (law 15). */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Fingerprint } from "./Secrets.ts"

const lifetime = {
  /** Names the secret among those of its kind. Each replacement takes the next number. */
  number: Schema.Int.pipe(Schema.positive()),
  /** None for the current secret, which is the newest one. */
  expiresAt: Schema.OptionFromNullOr(Schema.DateTimeUtcFromNumber)
}

/** Fingerprint of a client secret. */
export const ClientSecret = Schema.Struct({ ...lifetime, hash: Fingerprint })
export type ClientSecret = typeof ClientSecret.Type

/** A signing secret (`whsec_…`). All live ones sign. */
export const SigningSecret = Schema.Struct({ ...lifetime, value: Schema.RedactedFromSelf(Schema.NonEmptyString) })
export type SigningSecret = typeof SigningSecret.Type

/** The number and the end of a secret, without its value. */
export type Lifetime = Pick<ClientSecret, "number" | "expiresAt">

/** A record with secrets of one kind, newest first. */
interface Holder<S> {
  readonly version: number
  readonly secrets: ReadonlyArray<S>
}

/** Lifetime of the first secret of its kind. */
export const first: Lifetime = { number: 1, expiresAt: Option.none() }

/** Maximum number of live secrets of one kind. */
export const maxLive = 5

/**
 * `unknown`: no live secret has this number. `current`: it is the newest one. `too_many`: no further one can be live.
 * `outdated`: there are newer secrets than the caller has seen. The message says what to do.
 */
export class SecretRefused extends Schema.TaggedError<SecretRefused>()("@startlist/core/SecretRefused", {
  reason: Schema.Literal("unknown", "current", "too_many", "outdated"),
  message: Schema.String
}) {}

const refuse = (reason: SecretRefused["reason"], message: string) => Either.left(new SecretRefused({ reason, message }))

/** The secrets that are valid at `now`, newest first. */
export const live = <S extends Lifetime>(secrets: ReadonlyArray<S>, now: DateTime.Utc): ReadonlyArray<S> =>
  secrets.filter(({ expiresAt }) => Option.isNone(expiresAt) || now.epochMillis < expiresAt.value.epochMillis)

/**
 * Adds a secret. The current one stays valid for `overlap`, and the others until their ends. An overlap of 0 ends them
 * all. Some expired ones stay in the record: on a node whose clock is behind, they are live. With `number`, refuses to
 * give the new secret another one.
 */
export const replace = <S extends Lifetime>(
  make: (lifetime: Lifetime) => S,
  overlap: Duration.Duration,
  number?: number
) =>
<A extends Holder<S>>(record: A & Holder<S>, now: DateTime.Utc): Either.Either<A, SecretRefused> => {
  const { secrets, version } = record
  const next = (secrets[0]?.number ?? 0) + 1
  if ((number ?? next) !== next) return refuse("outdated", `the next secret has the number ${next}, not ${number}`)
  const saved = (others: ReadonlyArray<S>) =>
    Either.right({ ...record, version: version + 1, secrets: [make({ ...first, number: next }), ...others] })
  if (Duration.toMillis(overlap) === 0) return saved([])
  const present = live(secrets, now)
  const oldest = present[maxLive - 1]
  if (oldest !== undefined) {
    const end = Option.match(oldest.expiresAt, { onNone: () => "its end", onSome: DateTime.formatIso })
    return refuse(
      "too_many",
      `${maxLive} secrets are live. End one, such as number ${oldest.number}, or wait until ${end}`
    )
  }
  const ends = Option.some(DateTime.addDuration(now, overlap))
  return saved(
    secrets
      .filter((secret, place) => place < 2 * maxLive || present.includes(secret))
      .map((secret) => ({ ...secret, expiresAt: Option.orElse(secret.expiresAt, () => ends) }))
  )
}

/** Ends a replaced secret before its time. */
export const end = (number: number) =>
<S extends Lifetime, A extends Holder<S>>(
  record: A & Holder<S>,
  now: DateTime.Utc
): Either.Either<A, SecretRefused> => {
  const ended = live(record.secrets, now).find((secret) => secret.number === number)
  if (ended === undefined) return refuse("unknown", `no live secret has the number ${number}`)
  return Option.isNone(ended.expiresAt)
    ? refuse("current", `number ${number} is the current secret: replace it first`)
    : Either.right({ ...record, version: record.version + 1, secrets: record.secrets.filter((one) => one !== ended) })
}

/** The keys of an installation, from which all other keys are derived. They are the same on every node. */
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** A key is not 32 bytes in base64. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>()("@startlist/core/InvalidKey", {}) {
  override get message(): string {
    return "a master key is 32 bytes in base64"
  }
}

/** Keys of 32 bytes each, in base64 or base64url. */
export interface MasterKeys {
  /** The present key. */
  readonly key: Redacted.Redacted<string>
  /** Previous keys. Values that were made with them stay valid. */
  readonly retired?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

/** The 32 bytes of a key. White space around it is ignored. */
export const bytesOf = (key: Redacted.Redacted<string>): Either.Either<Uint8Array, InvalidKey> => {
  const text = Redacted.value(key).trim().replaceAll("+", "-").replaceAll("/", "_").replace(/={1,2}$/, "")
  return Encoding.decodeBase64Url(text).pipe(
    Either.mapLeft(() => new InvalidKey()),
    Either.filterOrLeft((bytes) => bytes.length === 32, () => new InvalidKey())
  )
}

/** All keys, the present one first. */
export const allBytes = (
  { key, retired = [] }: MasterKeys
): Either.Either<readonly [Uint8Array, ...ReadonlyArray<Uint8Array>], InvalidKey> =>
  Either.all([bytesOf(key), Either.all(retired.map(bytesOf))]).pipe(
    Either.map(([present, others]) => [present, ...others])
  )

/** Seals secrets that must be recoverable: the webhook signing secrets, under the operator's master key. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

/** The key is not 32 bytes. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>("@startlist/postgres/InvalidKey")("InvalidKey", {}) {
  override get message(): string {
    return "a master key is 32 bytes in base64"
  }
}

/** What is sealed was sealed with another master key, for another owner, or is damaged. */
export class CannotOpen extends Schema.TaggedError<CannotOpen>("@startlist/postgres/CannotOpen")("CannotOpen", {
  reason: Schema.Literal("unknown_key", "damaged")
}) {
  override get message(): string {
    return this.reason === "unknown_key"
      ? "a secret is sealed with a master key that is not given"
      : "a sealed secret is damaged, or not its owner's"
  }
}

export class Seal extends Context.Tag("@startlist/postgres/Seal")<Seal, Seal.Service>() {}

export declare namespace Seal {
  export interface Service {
    /** Seals a secret for its owner, such as `application:7`. Text in base64url. */
    readonly seal: (owner: string, secret: Redacted.Redacted<string>) => string
    /** What was sealed for this owner. */
    readonly open: (owner: string, sealed: string) => Either.Either<Redacted.Redacted<string>, CannotOpen>
    /** Whether this was sealed with the present key. */
    readonly isPresent: (sealed: string) => boolean
  }
}

/** The format: one byte 1, four bytes that name the key, the nonce, the ciphertext, the tag. */
const format = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const cipher = "aes-256-gcm"

/** So many opened secrets are remembered: a worker needs the same few again with every claim. */
const maxRemembered = 1024

interface Key {
  readonly id: Buffer
  readonly bytes: Buffer
}

const toKey = (key: Redacted.Redacted<string>): Effect.Effect<Key, InvalidKey> => {
  const text = Redacted.value(key).trim()
  const bytes = Buffer.from(text, "base64")
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text) || bytes.length !== 32) return new InvalidKey()
  const id = createHash("sha256").update("startlist master key").update(bytes).digest().subarray(0, keyIdBytes)
  return Effect.succeed({ id, bytes })
}

/** A seal with a master key (32 bytes in base64), which seals; `retired` ones still open. */
export const make = (
  key: Redacted.Redacted<string>,
  retired: ReadonlyArray<Redacted.Redacted<string>> = []
): Effect.Effect<Seal.Service, InvalidKey> =>
  Effect.gen(function*() {
    const present = yield* toKey(key)
    const keys = [present, ...(yield* Effect.forEach(retired, toKey))]
    const header = Buffer.concat([Buffer.of(format), present.id])
    /** The owner and the header are authenticated: a sealed secret cannot be moved to another row. */
    const bound = (owner: string, head: Buffer) => Buffer.concat([head, Buffer.from(owner)])

    const open = (owner: string, sealed: string): Either.Either<Redacted.Redacted<string>, CannotOpen> => {
      const bytes = Buffer.from(sealed, "base64url")
      const head = bytes.subarray(0, 1 + keyIdBytes)
      const key = keys.find(({ id }) => id.equals(head.subarray(1)))
      if (bytes[0] !== format || key === undefined) return Either.left(new CannotOpen({ reason: "unknown_key" }))
      const nonce = bytes.subarray(head.length, head.length + nonceBytes)
      const text = bytes.subarray(head.length + nonceBytes, -tagBytes)
      return Either.try({
        try: () => {
          const opening = createDecipheriv(cipher, key.bytes, nonce).setAAD(bound(owner, head))
            .setAuthTag(bytes.subarray(-tagBytes))
          return Redacted.make(opening.update(text, undefined, "utf8") + opening.final("utf8"))
        },
        catch: () => new CannotOpen({ reason: "damaged" })
      })
    }

    /** By owner and sealed text, which together say all that opening looks at. Only what could be opened. */
    const remembered = new Map<string, Either.Either<Redacted.Redacted<string>>>()

    return Seal.of({
      seal: (owner, secret) => {
        const nonce = randomBytes(nonceBytes)
        const sealing = createCipheriv(cipher, present.bytes, nonce).setAAD(bound(owner, header))
        const text = Buffer.concat([sealing.update(Redacted.value(secret), "utf8"), sealing.final()])
        return Buffer.concat([header, nonce, text, sealing.getAuthTag()]).toString("base64url")
      },
      isPresent: (sealed) => Buffer.from(sealed, "base64url").subarray(0, header.length).equals(header),
      open: (owner, sealed) => {
        const name = `${owner} ${sealed}`
        const known = remembered.get(name)
        if (known !== undefined) return known
        const opened = open(owner, sealed)
        if (Either.isRight(opened)) {
          if (remembered.size >= maxRemembered) remembered.clear()
          remembered.set(name, Either.right(opened.right))
        }
        return opened
      }
    })
  })

/** A seal with a master key: 32 bytes in base64. `retired` keys still open what they sealed. */
export const layerWith = (options: {
  readonly key: Redacted.Redacted<string>
  readonly retired?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}): Layer.Layer<Seal, InvalidKey> => Layer.effect(Seal, make(options.key, options.retired))

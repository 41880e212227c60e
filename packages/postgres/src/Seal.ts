/** Seals secrets that must be recoverable: the webhook signing secrets, under the operator's master key. */
import { allKeyBytes, type InvalidKey, type MasterKeys } from "@startlist/core/Secrets"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

/** The value was sealed with another master key or for another owner, or is damaged. */
export class CannotOpen extends Schema.TaggedError<CannotOpen>()("@startlist/postgres/CannotOpen", {
  reason: Schema.Literal("unknown_key", "damaged")
}) {
  override get message(): string {
    return this.reason === "unknown_key"
      ? "a secret is sealed with a master key that is not given"
      : "a sealed secret is damaged, or not its owner's"
  }
}

/**
 * The seal of secrets that must be recoverable.
 *
 * @example
 * ```ts
 * import { Seal } from "@startlist/postgres"
 * import { Effect, Redacted } from "effect"
 *
 * export const seal = (secret: string) =>
 *   Effect.map(Seal.Seal, ({ seal }) => seal("club:7", Redacted.make(secret)))
 * ```
 */
export class Seal extends Context.Tag("@startlist/postgres/Seal")<Seal, Seal.Service>() {}

export declare namespace Seal {
  export interface Service {
    /** Seals a secret for its owner, such as `application:7`. Text in base64url. */
    readonly seal: (owner: string, secret: Redacted.Redacted<string>) => string
    /** Opens a value that was sealed for this owner. */
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

/** Maximum number of opened secrets in memory: a worker needs the same few with every claim. */
const maxRemembered = 1024

interface Key {
  readonly id: Buffer
  readonly bytes: Uint8Array
}

const toKey = (bytes: Uint8Array): Key => ({
  id: createHash("sha256").update("startlist master key").update(bytes).digest().subarray(0, keyIdBytes),
  bytes
})

/** A seal with the present master key, which seals; retired ones still open. */
export const make = (masterKeys: MasterKeys): Effect.Effect<Seal.Service, InvalidKey> =>
  Effect.gen(function*() {
    const [first, ...others] = yield* allKeyBytes(masterKeys)
    const present = toKey(first)
    const keys = [present, ...others.map(toKey)]
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

    /** Opened secrets by owner and sealed text, which are the whole input. Failures are not cached. */
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

/** A seal with the present master key. Retired keys still open the secrets that they sealed. */
export const layerWith = (masterKeys: MasterKeys): Layer.Layer<Seal, InvalidKey> => Layer.effect(Seal, make(masterKeys))

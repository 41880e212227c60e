/**
 * Passwords and client secrets whose hashes another server has made: bcrypt (Doorkeeper, Devise, Laravel), PBKDF2 (Django,
 * passlib) and Argon2. Their first successful use replaces them by ours.
 */
import { createHash, pbkdf2, timingSafeEqual } from "node:crypto"
import { promisify } from "node:util"
import * as ImportedSecrets from "@startlist/http/ImportedSecrets"
import * as Option from "effect/Option"

/** A hash that can be checked. */
interface Known {
  readonly matches: (secret: string) => Promise<boolean>
}

/** Maximum work of one check, about a second. A hash with more could stop all sign-ins. */
const maxCost = { bcrypt: 14, iterations: 2_000_000, memory: 262_144, passes: 10 }

// Loaded with the first hash of their kind.
const bcrypt = (hash: string, toInput: (secret: string) => string = (secret) => secret): Known => ({
  matches: async (secret) => (await import("@node-rs/bcrypt")).verify(toInput(secret), hash)
})
const argon2 = (hash: string): Known => ({
  matches: async (secret) => (await import("@node-rs/argon2")).verify(hash, secret)
})
const pbkdf2Of = (digest: string, iterations: string, salt: string | Buffer, hash: Buffer): Known => ({
  matches: async (secret) =>
    timingSafeEqual(await promisify(pbkdf2)(secret, salt, Number(iterations), hash.length, digest), hash)
})

const bcryptForm = /^\$2[abxy]\$(\d\d)\$[./A-Za-z\d]{53}$/
const argon2Form = /^\$argon2(?:id|i|d)\$v=19\$m=(\d+),t=(\d+),p=\d{1,2}\$[\w+/]+\$[\w+/]+$/
const djangoForm = /^pbkdf2_(sha1|sha256)\$(\d+)\$([^$\s]+)\$([\w+/]+={0,2})$/
const passlibForm = /^\$pbkdf2-(sha1|sha256|sha512)\$(\d+)\$([\w./]+)\$([\w./]+)$/

/** Base64 as passlib writes it: a full stop for a plus sign, without padding. */
const unpack = (text: string): Buffer => Buffer.from(text.replaceAll(".", "+"), "base64")

/** The name of Django's hasher before a hash of another library. */
const djangoPrefix = /^(?:bcrypt\$|argon2)(?=\$)/

/** The hexadecimal SHA-256 that Django's `bcrypt_sha256` hashes, because bcrypt reads 72 bytes. */
const sha256 = (secret: string): string => createHash("sha256").update(secret).digest("hex")

const read = (text: string): Known | string => {
  const isDigested = text.startsWith("bcrypt_sha256$")
  const hash = isDigested ? text.slice("bcrypt_sha256$".length) : text.replace(djangoPrefix, "")
  const [, cost] = bcryptForm.exec(hash) ?? []
  if (cost !== undefined) {
    return Number(cost) <= maxCost.bcrypt ? bcrypt(hash, isDigested ? sha256 : undefined) : "it takes too long to check"
  }
  const [, memory, passes] = argon2Form.exec(hash) ?? []
  if (memory !== undefined) {
    return Number(memory) <= maxCost.memory && Number(passes) <= maxCost.passes
      ? argon2(hash)
      : "it takes too long to check"
  }
  const django = djangoForm.exec(text)
  const [, digest = "", iterations = "", salt = "", key = ""] = django ?? passlibForm.exec(text) ?? []
  if (digest === "") return "it must be a SHA-256, bcrypt, PBKDF2 or Argon2 hash in a known format"
  return Number(iterations) >= 1 && Number(iterations) <= maxCost.iterations
    ? pbkdf2Of(digest, iterations, django === null ? unpack(salt) : salt, unpack(key))
    : "it takes too long to check"
}

/** Why a hash cannot be checked. */
export const problem = (hash: string): Option.Option<string> => {
  const found = read(hash)
  return typeof found === "string" ? Option.some(found) : Option.none()
}

/** Whether a text is the password or secret of a hash. False for an unknown format. */
export const matches = async (hash: string, secret: string): Promise<boolean> => {
  const found = read(hash)
  return typeof found === "string" ? false : found.matches(secret)
}

/** Checks imported client secrets. */
export const layerClients = ImportedSecrets.layerWith({ problem, matches })

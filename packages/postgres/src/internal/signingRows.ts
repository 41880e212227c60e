/** The signing secrets of applications, sealed in two columns of their rows. */
import type { SigningSecret, SigningSecrets } from "@startlist/core/Application"
import { StoreError } from "@startlist/core/Store"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import type { Seal } from "../Seal.ts"
import { type Int8, millisOrNull, toApplicationId, toInstantOption } from "./rows.ts"

export interface SigningRow {
  readonly application_id: Int8
  readonly signing_version: number
  readonly signing_secrets: ReadonlyArray<readonly [sealed: string, expiresAt: number | null]>
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
    secrets.map(({ expiresAt, value }): readonly [string, number | null] => [
      seal.seal(ownerOf(applicationId), value),
      millisOrNull(expiresAt)
    ])
  )

/** Opens the secrets of a row, each or why not. */
const opened = (seal: Seal.Service, { application_id, signing_secrets }: SigningRow) =>
  signing_secrets.map(([sealed, expiresAt]) =>
    Either.map(
      seal.open(ownerOf(application_id), sealed),
      (value: Redacted.Redacted<string>): SigningSecret => ({ value, expiresAt: toInstantOption(expiresAt) })
    )
  )

/** Without the secrets that no key opens: the others can be shown, and new ones be made. */
export const toSigningSecrets = (seal: Seal.Service) => (row: SigningRow): SigningSecrets => ({
  applicationId: toApplicationId(row.application_id),
  version: row.signing_version,
  secrets: Arr.getRights(opened(seal, row))
})

/**
 * All of them, or why one does not open: events must not go out with fewer signatures. No effect but its result, because a
 * claim decodes a row for every delivery or two.
 */
export const toSigning =
  (seal: Seal.Service) => (row: SigningRow): Either.Either<ReadonlyArray<SigningSecret>, StoreError> =>
    Either.mapLeft(Either.all(opened(seal, row)), (cause) => new StoreError({ cause }))

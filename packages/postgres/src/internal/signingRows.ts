/** The signing secrets of applications, sealed in two columns of their rows. */
import type { SigningSecrets } from "@startlist/core/Application"
import type { SigningSecret } from "@startlist/core/ApplicationSecret"
import { StoreError } from "@startlist/core/Store"
import * as Arr from "effect/Array"
import * as Either from "effect/Either"
import type * as Redacted from "effect/Redacted"
import type { Seal } from "../Seal.ts"
import { type Int8, millisOrNull, toApplicationId, toInstantOption } from "./rows.ts"

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

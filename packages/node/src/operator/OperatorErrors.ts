/** Errors of the operator API: the common error body with the appropriate status. */
import * as Data from "effect/Data"
import type { ApplicationNotFound, InvalidApplication } from "@startlist/core/Application"
import type { SecretRefused } from "@startlist/core/ApplicationSecret"
import type { DeliveryNotFound } from "@startlist/core/Delivery"
import type { InvalidParty, RegistrationNotFound } from "@startlist/core/Registration"
import type { StoreError } from "@startlist/core/Store"
import type { ErrorBody, Problem } from "@startlist/http/api/ApiResponse"
import type { UserNotFound } from "../accounts/AccountStore.ts"

/** Status of each error, and its description in `openapi.json`. */
export const statuses = {
  BadRequest: [400, "The request is invalid"],
  Unauthorized: [401, "The operator token is missing or wrong"],
  NotFound: [404, "There is no such record"],
  Conflict: [409, "The state of the record does not allow it"],
  Unprocessable: [422, "The request would break a rule"],
  TooMany: [429, "Too many wrong operator tokens; try again after Retry-After"],
  Unavailable: [503, "The database is unavailable; try again after Retry-After"]
} as const

type Name = keyof typeof statuses

/** The status of a refused request. */
export type Status = (typeof statuses)[Name][0]

/** An error with its name, and the fields of the common error body. */
export class OperatorError<Tag extends Name = Name>
  extends Data.Error<Pick<ErrorBody, "message" | "errors"> & { readonly _tag: Tag }>
{
  /** The HTTP status. */
  get status(): Status {
    return statuses[this._tag][0]
  }
}

/** Any error of the operator API. `_tag` says which one it is. */
export type AnyError = { readonly [Tag in Name]: OperatorError<Tag> }[Name]

const tags = new Map(Object.entries(statuses).map(([tag, [status]]) => [status as number, tag as Name]))

/** The error with this status. */
export const fromStatus = (
  status: number,
  message: string,
  errors: ReadonlyArray<Problem>
): AnyError | undefined => {
  const _tag = tags.get(status)
  // Safe: each tag has its own type of error.
  return _tag === undefined ? undefined : new OperatorError({ _tag, message, errors }) as AnyError
}

/** A request with these problems. */
export const badRequest = (errors: ReadonlyArray<Problem>): OperatorError<"BadRequest"> =>
  new OperatorError({
    _tag: "BadRequest",
    message: errors.map(({ field, message }) => `${field} ${message}`.trim()).join("; "),
    errors
  })

/** There is no such record. The message names what was looked for. */
export const notFound = (resource: string, field: string, message: string): OperatorError<"NotFound"> =>
  new OperatorError({
    _tag: "NotFound",
    message,
    errors: [{ resource, field, code: "not_found", message: "does not exist" }]
  })

/** The request would break a rule about this field. */
const unprocessable = (resource: string, field: string, message: string): OperatorError<"Unprocessable"> =>
  new OperatorError({
    _tag: "Unprocessable",
    message: `${field}: ${message}`,
    errors: [{ resource, field, code: "invalid", message }]
  })

/** The state of the record does not allow it. */
export const conflict = (
  resource: string,
  field: string,
  code: string,
  message: string
): OperatorError<"Conflict"> =>
  new OperatorError({ _tag: "Conflict", message, errors: [{ resource, field, code, message }] })

/** Errors of the services that every operation may return as they are. */
export type Known =
  | AnyError
  | ApplicationNotFound
  | DeliveryNotFound
  | InvalidApplication
  | InvalidParty
  | RegistrationNotFound
  | SecretRefused
  | UserNotFound

/** The error of the operator API for an error of a service. */
export const toOperatorError = (error: Exclude<Known, StoreError>): AnyError => {
  switch (error._tag) {
    case "@startlist/core/ApplicationNotFound":
      return notFound("Application", "client_id", `there is no application ${error.applicationId}`)
    case "@startlist/core/DeliveryNotFound":
      return notFound("Delivery", "id", `there is no delivery ${error.deliveryId}`)
    case "@startlist/core/RegistrationNotFound":
      return notFound("Registration", "id", `there is no registration ${error.registrationId}`)
    case "@startlist/node/UserNotFound":
      return notFound("User", "id", `there is no user ${error.userId}`)
    case "@startlist/core/InvalidApplication":
      return unprocessable("Application", error.field, error.message)
    case "@startlist/core/InvalidParty":
      return unprocessable("Registration", error.field, error.message)
    case "@startlist/core/SecretRefused":
      return error.reason === "unknown"
        ? notFound("Secret", "number", error.message)
        : conflict("Secret", "number", error.reason, error.message)
    default:
      return error
  }
}

/** Refusals of the operator API: the common error body with the appropriate status. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { errorBody } from "@startlist/http/api/ApiResponse"
import { ErrorBody } from "@startlist/http/description/ProtocolApi"

type Body = Pick<typeof ErrorBody.Type, "message" | "errors">

/** The operator token is missing or wrong. */
export class Unauthorized extends Data.TaggedError("Unauthorized")<Body> {}

/** There is no such record. */
export class NotFound extends Data.TaggedError("NotFound")<Body> {}

/** The state of the record does not allow it. */
export class Conflict extends Data.TaggedError("Conflict")<Body> {}

/** The request is understood, but what it asks for would break a rule. */
export class Unprocessable extends Data.TaggedError("Unprocessable")<Body> {}

/** Too many requests with a wrong operator token came from this network. */
export class TooMany extends Data.TaggedError("TooMany")<Body> {}

/** The database is unavailable. */
export class Unavailable extends Data.TaggedError("Unavailable")<Body> {}

/** A refusal with its status and the common error body. */
const under = <A extends Body>(
  status: number,
  identifier: string,
  description: string,
  Refusal: new(body: Body) => A
) =>
  Schema.transform(ErrorBody, Schema.instanceOf(Refusal), {
    strict: true,
    decode: ({ errors, message }) => new Refusal({ message, errors }),
    encode: ({ errors, message }) => errorBody(status, message, errors)
  }).annotations(HttpApiSchema.annotations({ status, identifier, description }))

/** The refusals that `Api` declares. The framework refuses requests that it cannot decode, with 400. */
export const Wire = {
  Unauthorized: under(401, "Unauthorized", "The operator token is missing or wrong", Unauthorized),
  NotFound: under(404, "NotFound", "There is no such record", NotFound),
  Conflict: under(409, "Conflict", "The state of the record does not allow it", Conflict),
  Unprocessable: under(422, "Unprocessable", "The request would break a rule", Unprocessable),
  TooMany: under(429, "TooMany", "Too many wrong operator tokens; try again after Retry-After", TooMany),
  Unavailable: under(503, "Unavailable", "The database is unavailable; try again after Retry-After", Unavailable)
}

export const unavailable = new Unavailable({
  message: "the service is temporarily unavailable",
  errors: [{ resource: "Service", field: "", code: "unavailable", message: "try again in a moment" }]
})

export const notFound = (resource: string, field: string): NotFound =>
  new NotFound({
    message: `${resource} not found`,
    errors: [{ resource, field, code: "not_found", message: "does not exist" }]
  })

export const unprocessable = (resource: string, field: string, message: string): Unprocessable =>
  new Unprocessable({ message: `${field}: ${message}`, errors: [{ resource, field, code: "invalid", message }] })

export const conflict = (resource: string, field: string, code: string, message: string): Conflict =>
  new Conflict({ message, errors: [{ resource, field, code, message }] })

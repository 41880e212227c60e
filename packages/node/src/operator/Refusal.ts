/** How the operator API says no: one body, `{message, errors}`, under the status that fits. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"

/** One thing that is wrong. `code` is stable, `message` is for people. */
export const Problem = Schema.Struct({
  resource: Schema.String,
  field: Schema.String,
  code: Schema.String,
  message: Schema.String
}).annotations({ identifier: "Problem" })
export type Problem = typeof Problem.Type

const body = { message: Schema.String, errors: Schema.Array(Problem) }

/** The request is not understood. */
export class BadRequest extends Schema.Class<BadRequest>("BadRequest")(
  body,
  HttpApiSchema.annotations({ status: 400 })
) {}

/** The operator token is missing or wrong. */
export class Unauthorized extends Schema.Class<Unauthorized>("Unauthorized")(
  body,
  HttpApiSchema.annotations({ status: 401 })
) {}

/** There is no such record. */
export class NotFound extends Schema.Class<NotFound>("NotFound")(body, HttpApiSchema.annotations({ status: 404 })) {}

/** The state of the record does not allow it. */
export class Conflict extends Schema.Class<Conflict>("Conflict")(body, HttpApiSchema.annotations({ status: 409 })) {}

/** The request is understood, but what it asks for would break a rule. */
export class Unprocessable extends Schema.Class<Unprocessable>("Unprocessable")(
  body,
  HttpApiSchema.annotations({ status: 422 })
) {}

/** The database is away. */
export class Unavailable extends Schema.Class<Unavailable>("Unavailable")(
  body,
  HttpApiSchema.annotations({ status: 503 })
) {}

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

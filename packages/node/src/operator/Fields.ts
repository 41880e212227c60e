/** Fields of the operator API's records, each with a message for invalid values. */
import * as Schema from "effect/Schema"
import * as Application from "@startlist/core/Application"
import { maxId, Text } from "@startlist/core/Store"
import * as User from "@startlist/core/User"

/** Uses one message for every invalid value. The message never repeats the value. */
export const saying = <A, I, R>(schema: Schema.Schema<A, I, R>, message: string): Schema.Schema<A, I, R> =>
  schema.annotations({ message: () => ({ message, override: true }) })

/** An object that refuses unknown fields. */
export const strict = <A, I, R>(schema: Schema.Schema<A, I, R>): Schema.Schema<A, I, R> =>
  schema.annotations({ parseOptions: { onExcessProperty: "error", errors: "all" } })

/** The id of a user in a body. */
export const UserId = saying(User.UserId, "must be the id of a user, a positive integer")
/** A `client_id` in a body. */
export const ApplicationId = saying(Application.ApplicationId, "must be a client_id, a positive integer")
/** A text that every store can save. */
export const Words = saying(Text, "must be text without NUL characters and unpaired surrogates")
export const Flag = saying(Schema.Boolean, "must be true or false")

/** A field that may be absent or `null`. */
export const maybe = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(schema, { as: "Option", nullable: true })

/** An identifier in a path or query: decimal digits only. */
export const digits = <A>(schema: Schema.Schema<A, number>): Schema.Schema<A, string> =>
  saying(
    Schema.compose(
      Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,15}$/), Schema.parseNumber, Schema.lessThanOrEqualTo(maxId)),
      schema
    ),
    "must be a positive integer"
  )

/** Default number of records in a page. */
export const defaultLimit = 50

/** The query parameter `limit`. */
export const limit = Schema.optionalWith(
  saying(
    Schema.String.pipe(Schema.pattern(/^\d{1,3}$/), Schema.parseNumber, Schema.between(1, 500)),
    "must be an integer from 1 to 500"
  ),
  { default: () => defaultLimit }
)

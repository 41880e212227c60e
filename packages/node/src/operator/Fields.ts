/** Fields of the operator API's records, each with a message for invalid values. */
import * as Schema from "effect/Schema"
import * as Application from "@startlist/core/Application"
import * as Delivery from "@startlist/core/Delivery"
import * as Registration from "@startlist/core/Registration"
import { Text } from "@startlist/core/Store"
import * as Subscription from "@startlist/core/Subscription"
import * as User from "@startlist/core/User"

/** Uses one message for every invalid value. The message never repeats the value. */
export const saying = <A, I, R>(schema: Schema.Schema<A, I, R>, message: string): Schema.Schema<A, I, R> =>
  schema.annotations({ message: () => ({ message, override: true }) })

/** A field that may be absent. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** A field that may be absent or `null`. */
export const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true, nullable: true })

/** The id of a user. */
export const UserId = saying(User.UserId, "must be the id of a user, a positive integer")

/** The `client_id` of an application. */
export const ApplicationId = saying(Application.ApplicationId, "must be a client_id, a positive integer")

/** The id of a subscription. */
export const SubscriptionId = saying(
  Subscription.SubscriptionId,
  "must be the id of a subscription, a positive integer"
)

/** The id of a registration. */
export const RegistrationId = saying(
  Registration.RegistrationId,
  "must be the id of a registration, a positive integer"
)

/** The id of a delivery. */
export const DeliveryId = saying(Delivery.DeliveryId, "must be the id of a delivery, a positive integer")

/** A text that every store can save. */
export const Words = saying(Text, "must be text without NUL characters and unpaired surrogates")

/** `true` or `false`. */
export const Flag = saying(Schema.Boolean, "must be true or false")

/** An instant. */
export const Instant = saying(Schema.DateTimeUtc, "must be a date and time such as 2026-01-31T08:00:00Z")

/** Number of records in a page, if the request has no `limit`. */
export const defaultLimit = 50

/** Maximum number of records in a page. */
export const largestPage = 500

/** The fields of a request for a page: those after the record with this id, newest first. */
export const paging = <Id, I>(id: Schema.Schema<Id, I>) => ({
  after: optional(id),
  limit: optional(
    saying(Schema.Int.pipe(Schema.between(1, largestPage)), `must be an integer from 1 to ${largestPage}`)
  )
})

/** The `after` of the next page, if this page is full. */
export const next = (
  page: ReadonlyArray<{ readonly id: number }>,
  limit = defaultLimit
): { readonly next?: number } => {
  const last = page.at(-1)
  return last !== undefined && page.length === limit ? { next: last.id } : {}
}

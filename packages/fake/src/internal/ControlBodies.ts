/** The bodies of the requests that control a fake. */
import * as Schema from "effect/Schema"
import { deliveryFaults } from "./Receivers.ts"
import { responseFaults } from "./Traffic.ts"

const Who = Schema.Union(Schema.Int, Schema.NonEmptyString)
const Count = Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 1000)), { exact: true })
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

export const Updates = Schema.Struct({
  platform_id: optional(Schema.String),
  registration_status: optional(Schema.String),
  document_type: optional(Schema.String),
  document_status: optional(Schema.String),
  reasons: optional(Schema.Array(Schema.String)),
  comment: optional(Schema.String)
})

export const Consent = Schema.Struct({
  url: Schema.NonEmptyString,
  user: Who,
  decision: optional(Schema.Literal("allow", "deny"))
})
export const Time = Schema.Struct({ advance: Schema.NonEmptyString })
export const Responses = Schema.Struct({
  next: Schema.Literal(...responseFaults),
  count: Count,
  path: optional(Schema.String),
  delay: optional(Schema.Int.pipe(Schema.between(0, 60_000)))
})
export const Deliveries = Schema.Struct({ next: Schema.Literal(...deliveryFaults), count: Count })
export const Registration = Schema.Struct({
  athlete: optional(Who),
  organizer: optional(Who),
  club: optional(Who),
  ...Updates.fields
})
export const Revocation = Schema.Struct({ user: Who, client_id: optional(Schema.Int) })
export const User = Schema.Struct({
  role: Schema.Literal("platform", "organizer", "club", "athlete"),
  email: Schema.NonEmptyString,
  first_name: optional(Schema.String),
  last_name: optional(Schema.String)
})
export const Application = Schema.Struct({
  name: Schema.NonEmptyString,
  redirect_uris: optional(Schema.Array(Schema.String)),
  require_pkce: optional(Schema.Boolean)
})

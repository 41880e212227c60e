/** JSON of the operator API: accepted requests, with messages for invalid ones, and responses. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Application from "@startlist/core/Application"
import { type Lifetime, live } from "@startlist/core/ApplicationSecret"
import * as Delivery from "@startlist/core/Delivery"
import * as Event from "@startlist/core/Event"
import * as Registration from "@startlist/core/Registration"
import { Text } from "@startlist/core/Store"
import * as Subscription from "@startlist/core/Subscription"
import * as User from "@startlist/core/User"
import * as Users from "@startlist/postgres/Users"
import type * as AuditLog from "../data/AuditLog.ts"
import * as Password from "../accounts/Password.ts"
import { ApplicationId, digits, Flag, limit, maybe, saying, strict, UserId, Words } from "./Fields.ts"

export const UserIdPath = Schema.Struct({ id: digits(User.UserId) })
export const ApplicationIdPath = Schema.Struct({ client_id: digits(Application.ApplicationId) })
export const RegistrationIdPath = Schema.Struct({ id: digits(Registration.RegistrationId) })
export const DeliveryIdPath = Schema.Struct({ id: digits(Delivery.DeliveryId) })

const line = "must be text of at most 200 characters on one line, without control characters"

const AcceptablePassword = Text.pipe(
  Schema.filter(Password.isAcceptable, { jsonSchema: { minLength: 8, maxLength: 1000 } })
)

// The inner message is for clients, which check a password before they send it. It must not repeat the value.
export const NewUser = strict(Schema.Struct({
  role: saying(User.Role, "must be platform, organizer, club or athlete"),
  email: saying(
    Users.NewUser.fields.email,
    "must be an e-mail address of at most 254 characters, without control characters"
  ),
  password: saying(Schema.Redacted(saying(AcceptablePassword, Password.rule)), Password.rule),
  first_name: maybe(saying(Users.NewUser.fields.firstName, line)),
  last_name: maybe(saying(Users.NewUser.fields.lastName, line))
}))

export const UserRecord = Schema.Struct({
  id: Schema.Int,
  role: User.Role,
  email: Schema.String,
  first_name: Schema.String,
  last_name: Schema.String,
  disabled: Schema.Boolean
}).annotations({ identifier: "User" })

export const UserList = Schema.Struct({ users: Schema.Array(UserRecord), next: Schema.optional(Schema.Int) })

export const UserQuery = strict(Schema.Struct({
  email: Schema.optionalWith(
    saying(Text.pipe(Schema.minLength(1), Schema.maxLength(254)), "must be the e-mail address to look for"),
    { as: "Option" }
  ),
  after: Schema.optionalWith(digits(User.UserId), { as: "Option" }),
  limit
}))

export const showUser = (user: User.User, disabled = false): typeof UserRecord.Type => ({
  id: user.id,
  role: user.role,
  email: user.email,
  first_name: user.firstName,
  last_name: user.lastName,
  disabled
})

const settings = {
  name: saying(Application.Settings.fields.name, "must be text of 1 to 100 characters, without spaces around it"),
  redirect_uris: saying(Schema.Array(Words), "must be an array of redirect URIs"),
  require_pkce: Flag
}

const links = {
  website: Schema.optionalWith(Schema.NullOr(Words), { exact: true }),
  privacy_policy: Schema.optionalWith(Schema.NullOr(Words), { exact: true }),
  logo: Schema.optionalWith(Schema.NullOr(Words), { exact: true })
}

export const NewApplication = strict(Schema.Struct({
  name: settings.name,
  owner_id: UserId,
  redirect_uris: settings.redirect_uris,
  require_pkce: maybe(Flag),
  ...links
}))

export const ApplicationChange = strict(Schema.Struct({
  name: Schema.optionalWith(settings.name, { exact: true }),
  owner_id: Schema.optionalWith(UserId, { exact: true }),
  redirect_uris: Schema.optionalWith(settings.redirect_uris, { exact: true }),
  require_pkce: Schema.optionalWith(Flag, { exact: true }),
  ...links
}))

/** The links in a request. `null` removes a link. */
export const readLinks = (
  { logo, privacy_policy, website }: Partial<Pick<typeof ApplicationChange.Type, keyof typeof links>>
): Application.Links => ({
  ...(website === undefined ? {} : { website: website ?? "" }),
  ...(privacy_policy === undefined ? {} : { privacyPolicy: privacy_policy ?? "" }),
  ...(logo === undefined ? {} : { logo: logo ?? "" })
})

export const ApplicationRecord = Schema.Struct({
  client_id: Schema.Int,
  name: Schema.String,
  owner_id: Schema.Int,
  redirect_uris: Schema.Array(Schema.String),
  require_pkce: Schema.Boolean,
  state: Schema.Literal("active", "suspended", "ended"),
  website: Schema.NullOr(Schema.String),
  privacy_policy: Schema.NullOr(Schema.String),
  logo: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Application" })

export const ApplicationWithSecret = Schema.Struct({
  ...ApplicationRecord.fields,
  client_secret: Schema.String,
  signing_secret: Schema.String
}).annotations({ identifier: "ApplicationWithSecret" })

export const ApplicationQuery = strict(Schema.Struct({
  after: Schema.optionalWith(digits(Application.ApplicationId), { as: "Option" }),
  limit
}))

export const ApplicationPage = Schema.Struct({
  applications: Schema.Array(ApplicationRecord),
  next: Schema.optional(Schema.Int)
})

export const showApplication = (application: Application.Application): typeof ApplicationRecord.Type => ({
  client_id: application.id,
  name: application.name,
  owner_id: application.ownerId,
  redirect_uris: application.redirectUris,
  require_pkce: application.requirePkce,
  state: application.state,
  website: application.links?.website ?? null,
  privacy_policy: application.links?.privacyPolicy ?? null,
  logo: application.links?.logo ?? null
})

export const SubscriptionRecord = Schema.Struct({
  id: Schema.Int,
  client_id: Schema.Int,
  callback_url: Schema.String,
  paused: Schema.Boolean,
  created_at: Schema.String,
  updated_at: Schema.String
}).annotations({ identifier: "ApplicationSubscription" })

export const SubscriptionQuery = strict(Schema.Struct({
  after: Schema.optionalWith(digits(Subscription.SubscriptionId), { as: "Option" }),
  limit
}))

export const SubscriptionPage = Schema.Struct({
  subscriptions: Schema.Array(SubscriptionRecord),
  next: Schema.optional(Schema.Int)
})

export const showSubscription = (subscription: Subscription.Subscription): typeof SubscriptionRecord.Type => ({
  id: subscription.id,
  client_id: subscription.applicationId,
  callback_url: subscription.callbackUrl,
  paused: subscription.paused,
  created_at: DateTime.formatIso(subscription.createdAt),
  updated_at: DateTime.formatIso(subscription.updatedAt)
})

const maxOverlap = Duration.days(30)

export const SecretRequest = strict(Schema.Struct({
  overlap_seconds: maybe(
    saying(
      Schema.Int.pipe(Schema.between(0, Duration.toSeconds(maxOverlap))),
      `must be an integer from 0 to ${Duration.toSeconds(maxOverlap)}`
    )
  )
}))

export const Secret = Schema.Struct({ client_secret: Schema.String, number: Schema.Int })

const lifetime = { number: Schema.Int, expires_at: Schema.optional(Schema.String) }

/** The live secrets of an application, without their values. */
export const SecretList = Schema.Struct({
  client_secrets: Schema.Array(Schema.Struct(lifetime)),
  signing_secrets: Schema.Array(Schema.Struct(lifetime))
}).annotations({ identifier: "SecretList" })

const showLifetime = ({ expiresAt, number }: Lifetime) => ({
  number,
  ...Option.match(expiresAt, { onNone: () => ({}), onSome: (at) => ({ expires_at: DateTime.formatIso(at) }) })
})

export const showSecretList = (
  client: ReadonlyArray<Lifetime>,
  signing: ReadonlyArray<Lifetime>,
  now: DateTime.Utc
): typeof SecretList.Type => ({
  client_secrets: live(client, now).map(showLifetime),
  signing_secrets: live(signing, now).map(showLifetime)
})

/** An application and the number of one of its secrets. */
export const SecretPath = Schema.Struct({
  ...ApplicationIdPath.fields,
  number: digits(Schema.Int)
})

export const SigningSecrets = Schema.Struct({
  signing_secrets: Schema.Array(Schema.Struct({ value: Schema.String, ...lifetime }))
}).annotations({ identifier: "SigningSecrets" })

/** The secrets that sign at `now`, newest first. */
export const showSigningSecrets = (
  { secrets }: Application.SigningSecrets,
  now: DateTime.Utc
): typeof SigningSecrets.Type => ({
  signing_secrets: live(secrets, now).map((secret) => ({ value: reveal(secret.value), ...showLifetime(secret) }))
})

const patch = {
  platform_id: Schema.optionalWith(Words, { exact: true }),
  registration_status: Schema.optionalWith(Words, { exact: true }),
  document_type: Schema.optionalWith(Words, { exact: true }),
  document_status: Schema.optionalWith(Words, { exact: true }),
  reasons: Schema.optionalWith(saying(Schema.Array(Text), "must be an array of texts"), { exact: true }),
  comment: Schema.optionalWith(Words, { exact: true })
}

export const RegistrationChange = strict(Schema.Struct(patch))

export const NewRegistration = strict(Schema.Struct({
  athlete_id: UserId,
  organizer_id: maybe(UserId),
  club_id: maybe(UserId),
  platform_user_id: maybe(UserId),
  ...patch
}))

export const RegistrationRecord = Schema.Struct({
  id: Schema.Int,
  athlete_id: Schema.Int,
  organizer_id: Schema.NullOr(Schema.Int),
  club_id: Schema.NullOr(Schema.Int),
  platform_user_id: Schema.NullOr(Schema.Int),
  ...Event.Updates.fields
}).annotations({ identifier: "Registration" })

export const showRegistration = (
  { id, parties, updates }: Registration.Registration
): typeof RegistrationRecord.Type => ({
  id,
  athlete_id: parties.athleteId,
  organizer_id: Option.getOrNull(parties.organizerId),
  club_id: Option.getOrNull(parties.clubId),
  platform_user_id: Option.getOrNull(parties.platformUserId),
  ...updates
})

export const RevocationRequest = strict(Schema.Struct({ client_id: ApplicationId }))

const Attempt = Schema.Struct({
  at: Schema.String,
  outcome: Delivery.Attempt.fields.outcome,
  status: Schema.optional(Schema.Int),
  duration_ms: Schema.Int,
  detail: Schema.optional(Schema.String)
})

export const DeliveryRecord = Schema.Struct({
  id: Schema.Int,
  webhook_id: Schema.String,
  client_id: Schema.Int,
  subscription_id: Schema.Int,
  object_type: Event.ObjectType,
  object_id: Schema.Int,
  state: Delivery.State,
  attempts: Schema.Array(Attempt),
  next_attempt_at: Schema.optional(Schema.String),
  ended_at: Schema.optional(Schema.String),
  redelivery: Schema.optional(
    Schema.Struct({ id: Schema.Int, state: Delivery.State }).annotations({ identifier: "Redelivery" })
  )
}).annotations({ identifier: "Delivery" })

export const DeliveryQuery = strict(Schema.Struct({
  state: Schema.optionalWith(saying(Delivery.State, "must be pending, delivered, exhausted, cancelled or set_aside"), {
    as: "Option"
  }),
  client_id: Schema.optionalWith(digits(Application.ApplicationId), { as: "Option" }),
  after: Schema.optionalWith(digits(Delivery.DeliveryId), { as: "Option" }),
  limit
}))

export const DeliveryPage = Schema.Struct({
  deliveries: Schema.Array(DeliveryRecord),
  next: Schema.optional(Schema.Int)
})

export const showDelivery = (
  delivery: Delivery.Delivery,
  redelivery?: Delivery.Delivery
): typeof DeliveryRecord.Type => ({
  id: delivery.id,
  webhook_id: delivery.event.id,
  client_id: delivery.applicationId,
  subscription_id: delivery.subscriptionId,
  object_type: delivery.event.objectType,
  object_id: delivery.event.objectId,
  state: delivery.state,
  attempts: delivery.attempts.map((attempt) => ({
    at: DateTime.formatIso(attempt.at),
    outcome: attempt.outcome,
    ...(Option.isSome(attempt.status) ? { status: attempt.status.value } : {}),
    duration_ms: attempt.durationMs,
    ...(attempt.detail === "" ? {} : { detail: attempt.detail })
  })),
  ...(delivery.state === "pending" ? { next_attempt_at: DateTime.formatIso(delivery.dueAt) } : {}),
  ...(Option.isSome(delivery.endedAt) ? { ended_at: DateTime.formatIso(delivery.endedAt.value) } : {}),
  ...(redelivery === undefined ? {} : { redelivery: { id: redelivery.id, state: redelivery.state } })
})

const instant = saying(Schema.DateTimeUtc, "must be an instant such as 2026-01-31T08:00:00Z")

export const EndState = Delivery.State.pipe(Schema.pickLiteral("exhausted", "set_aside", "cancelled", "delivered"))

/** Where the next part of a redelivery begins, and its `until`. */
export const Continuation = saying(
  Schema.transform(
    Schema.String.pipe(Schema.pattern(/^[1-9]\d{0,15}-\d{1,15}$/)),
    Schema.Struct({ after: Delivery.DeliveryId, until: Schema.DateTimeUtcFromNumber }),
    {
      strict: true,
      decode: (text) => {
        const [after = 0, until = 0] = text.split("-").map(Number)
        return { after, until }
      },
      encode: ({ after, until }) => `${after}-${until}`
    }
  ),
  "must be `next` of the previous part"
)

export const RedeliveryRequest = strict(Schema.Struct({
  state: saying(EndState, "must be exhausted, set_aside, cancelled or delivered"),
  client_id: Schema.optionalWith(ApplicationId, { as: "Option" }),
  since: Schema.optionalWith(instant, { as: "Option" }),
  until: Schema.optionalWith(instant, { as: "Option" }),
  all: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  after: Schema.optionalWith(Continuation, { as: "Option" })
})).annotations({ identifier: "RedeliveryRequest" })

export const RedeliveryPart = Schema.Struct({
  redelivered: Schema.Int,
  skipped: Schema.Int,
  next: Schema.optionalWith(Continuation, { as: "Option" })
}).annotations({ identifier: "RedeliveryPart" })

export const CancellationRequest = strict(Schema.Struct({ client_id: ApplicationId }))

export const Cancellation = Schema.Struct({ cancelled: Schema.Int, more: Schema.Boolean })

const Party = Schema.Struct({
  type: Schema.Literal("user", "application", "operator", "unknown"),
  id: Schema.optional(Schema.Int)
})

export const AuditRecord = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  action: Schema.String,
  actor: Party,
  subject: Party,
  address: Schema.String,
  outcome: Schema.Literal("success", "refused", "failed"),
  detail: Schema.optional(Schema.String)
}).annotations({ identifier: "AuditEntry" })

export const AuditQuery = strict(Schema.Struct({
  action: Schema.optionalWith(
    saying(Schema.String.pipe(Schema.pattern(/^[a-z_]{1,50}$/)), "must be an action, such as login_failed"),
    { as: "Option" }
  ),
  user_id: Schema.optionalWith(digits(User.UserId), { as: "Option" }),
  client_id: Schema.optionalWith(digits(Application.ApplicationId), { as: "Option" }),
  since: Schema.optionalWith(instant, { as: "Option" }),
  until: Schema.optionalWith(instant, { as: "Option" }),
  after: Schema.optionalWith(digits(Schema.Int), { as: "Option" }),
  limit
}))

export const AuditPage = Schema.Struct({ entries: Schema.Array(AuditRecord), next: Schema.optional(Schema.Int) })

export const PasswordReset = Schema.Struct({ url: Schema.String, expires_at: Schema.String }).annotations({
  identifier: "PasswordReset"
})

/** `folder` is a path on the machine of the service. */
export const BackupRecord = Schema.Struct({ folder: Schema.String }).annotations({ identifier: "Backup" })

export const showAudit = (entry: AuditLog.AuditEntry): typeof AuditRecord.Type => ({
  id: entry.id,
  at: DateTime.formatIso(entry.at),
  action: entry.action,
  actor: entry.actor,
  subject: entry.subject,
  address: entry.address,
  outcome: entry.outcome,
  ...(entry.detail === "" ? {} : { detail: entry.detail })
})

export const UserExport = Schema.Struct({
  user: UserRecord,
  sessions: Schema.Array(Schema.Struct({ started_at: Schema.String, seen_at: Schema.String })),
  grants: Schema.Array(Schema.Struct({
    client_id: Schema.Int,
    application: Schema.String,
    scope: Schema.String,
    granted_at: Schema.String
  })),
  registrations: Schema.Array(RegistrationRecord),
  audit: Schema.Array(AuditRecord)
}).annotations({ identifier: "UserExport" })

/** The `after` of the next page, if this page is full. */
export const next = (page: ReadonlyArray<{ readonly id: number }>, limit: number): { readonly next?: number } => {
  const last = page.at(-1)
  return last !== undefined && page.length === limit ? { next: last.id } : {}
}

/** Unwraps a secret to show it. */
export const reveal = Redacted.value

/** Description of the operator API, the source of its routes, decoders, `openapi.json` and typed client. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Refusal from "./Refusal.ts"
import * as Wire from "./Wire.ts"

/** Marks an endpoint that ends a subscription, whose pending deliveries may be too many for one transaction. */
export class EndsSubscription extends Context.Reference<EndsSubscription>()("@startlist/node/EndsSubscription", {
  defaultValue: () => false
}) {}

/** Gives a record another status than 200, with the same identifier. */
const under = (status: number) => <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  schema.annotations(HttpApiSchema.annotations({
    status,
    ...Option.match(SchemaAST.getIdentifierAnnotation(schema.ast), {
      onNone: () => ({}),
      onSome: (identifier) => ({ identifier })
    })
  }))

const created = under(201)

const accepted = under(202)

/** Every request needs the operator token. */
const guarded = <const Name extends string>(name: Name) =>
  HttpApiGroup.make(name)
    .addError(Refusal.Wire.Unauthorized)
    .addError(Refusal.Wire.TooMany)

/** Groups whose requests need the database. */
const group = <const Name extends string>(name: Name) => guarded(name).addError(Refusal.Wire.Unavailable)

/** People, and the revocation of access on their behalf. */
export const Users = group("users")
  .add(
    HttpApiEndpoint.post("createUser", "/operator/v1/users")
      .setPayload(Wire.NewUser)
      .addSuccess(created(Wire.UserRecord))
      .addError(Refusal.Wire.Conflict)
  )
  .add(HttpApiEndpoint.get("findUsers", "/operator/v1/users").setUrlParams(Wire.UserQuery).addSuccess(Wire.UserList))
  .add(
    HttpApiEndpoint.get("getUser", "/operator/v1/users/:id")
      .setPath(Wire.UserIdPath)
      .addSuccess(Wire.UserRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("disableUser", "/operator/v1/users/:id/disable")
      .setPath(Wire.UserIdPath)
      .addSuccess(Wire.UserRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("enableUser", "/operator/v1/users/:id/enable")
      .setPath(Wire.UserIdPath)
      .addSuccess(Wire.UserRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.del("endSessions", "/operator/v1/users/:id/sessions")
      .setPath(Wire.UserIdPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("resetPassword", "/operator/v1/users/:id/password-resets")
      .setPath(Wire.UserIdPath)
      .addSuccess(created(Wire.PasswordReset))
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.get("exportUser", "/operator/v1/users/:id/export")
      .setPath(Wire.UserIdPath)
      .addSuccess(Wire.UserExport)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.del("eraseUser", "/operator/v1/users/:id")
      .setPath(Wire.UserIdPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )
  .add(
    HttpApiEndpoint.post("revokeForUser", "/operator/v1/users/:id/revocations")
      .setPath(Wire.UserIdPath)
      .setPayload(Wire.RevocationRequest)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
  )

/** Applications and their secrets. */
export const Applications = group("applications")
  .add(
    HttpApiEndpoint.post("createApplication", "/operator/v1/applications")
      .setPayload(Wire.NewApplication)
      .addSuccess(created(Wire.ApplicationWithSecret))
      .addError(Refusal.Wire.Unprocessable)
  )
  .add(
    HttpApiEndpoint.get("listApplications", "/operator/v1/applications")
      .setUrlParams(Wire.ApplicationQuery)
      .addSuccess(Wire.ApplicationPage)
  )
  .add(
    HttpApiEndpoint.get("getApplication", "/operator/v1/applications/:client_id")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.ApplicationRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.patch("changeApplication", "/operator/v1/applications/:client_id")
      .setPath(Wire.ApplicationIdPath)
      .setPayload(Wire.ApplicationChange)
      .addSuccess(Wire.ApplicationRecord)
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Unprocessable)
  )
  .add(
    HttpApiEndpoint.post("suspendApplication", "/operator/v1/applications/:client_id/suspend")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.ApplicationRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("restoreApplication", "/operator/v1/applications/:client_id/restore")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.ApplicationRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("revokeAllGrants", "/operator/v1/applications/:client_id/revocations")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.del("endApplication", "/operator/v1/applications/:client_id")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
      .annotate(EndsSubscription, true)
  )
  .add(
    HttpApiEndpoint.post("rotateSecret", "/operator/v1/applications/:client_id/secrets")
      .setPath(Wire.ApplicationIdPath)
      .setPayload(Wire.SecretRequest)
      .addSuccess(created(Wire.Secret))
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )
  .add(
    HttpApiEndpoint.get("listSecrets", "/operator/v1/applications/:client_id/secrets")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.SecretList)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.del("endSecret", "/operator/v1/applications/:client_id/secrets/:number")
      .setPath(Wire.SecretPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )
  .add(
    HttpApiEndpoint.get("showSigningSecrets", "/operator/v1/applications/:client_id/signing-secrets")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.SigningSecrets)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("rotateSigningSecret", "/operator/v1/applications/:client_id/signing-secrets")
      .setPath(Wire.ApplicationIdPath)
      .setPayload(Schema.Union(Wire.SecretRequest, Schema.Null))
      .addSuccess(created(Wire.SigningSecrets))
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )
  .add(
    HttpApiEndpoint.del("endSigningSecret", "/operator/v1/applications/:client_id/signing-secrets/:number")
      .setPath(Wire.SecretPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )

/** The webhook subscription of each application. */
export const Subscriptions = group("subscriptions")
  .add(
    HttpApiEndpoint.get("listSubscriptions", "/operator/v1/subscriptions")
      .setUrlParams(Wire.SubscriptionQuery)
      .addSuccess(Wire.SubscriptionPage)
  )
  .add(
    HttpApiEndpoint.post("pauseSubscription", "/operator/v1/applications/:client_id/subscription/pause")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.SubscriptionRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("resumeSubscription", "/operator/v1/applications/:client_id/subscription/resume")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(Wire.SubscriptionRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.del("endSubscription", "/operator/v1/applications/:client_id/subscription")
      .setPath(Wire.ApplicationIdPath)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Refusal.Wire.NotFound)
      .annotate(EndsSubscription, true)
  )

/** Registrations; a change is saved together with its events. */
export const Registrations = group("registrations")
  .add(
    HttpApiEndpoint.post("createRegistration", "/operator/v1/registrations")
      .setPayload(Wire.NewRegistration)
      .addSuccess(created(Wire.RegistrationRecord))
      .addError(Refusal.Wire.Unprocessable)
  )
  .add(
    HttpApiEndpoint.get("getRegistration", "/operator/v1/registrations/:id")
      .setPath(Wire.RegistrationIdPath)
      .addSuccess(Wire.RegistrationRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.patch("changeRegistration", "/operator/v1/registrations/:id")
      .setPath(Wire.RegistrationIdPath)
      .setPayload(Wire.RegistrationChange)
      .addSuccess(Wire.RegistrationRecord)
      .addError(Refusal.Wire.NotFound)
  )

/** Deliveries to callbacks, and redelivery. */
export const Deliveries = group("deliveries")
  .add(
    HttpApiEndpoint.get("listDeliveries", "/operator/v1/deliveries")
      .setUrlParams(Wire.DeliveryQuery)
      .addSuccess(Wire.DeliveryPage)
  )
  .add(
    HttpApiEndpoint.get("getDelivery", "/operator/v1/deliveries/:id")
      .setPath(Wire.DeliveryIdPath)
      .addSuccess(Wire.DeliveryRecord)
      .addError(Refusal.Wire.NotFound)
  )
  .add(
    HttpApiEndpoint.post("cancelDeliveries", "/operator/v1/deliveries/cancel")
      .setPayload(Wire.CancellationRequest)
      .addSuccess(Wire.Cancellation)
  )
  .add(
    HttpApiEndpoint.post("redeliverMany", "/operator/v1/deliveries/redeliver")
      .setPayload(Wire.RedeliveryRequest)
      .addSuccess(Wire.RedeliveryPart)
  )
  .add(
    HttpApiEndpoint.post("redeliver", "/operator/v1/deliveries/:id/redeliver")
      .setPath(Wire.DeliveryIdPath)
      .addSuccess(accepted(Wire.DeliveryRecord))
      .addError(Refusal.Wire.NotFound)
      .addError(Refusal.Wire.Conflict)
  )

/** The audit trail. */
export const Audit = group("audit")
  .add(HttpApiEndpoint.get("listAudit", "/operator/v1/audit").setUrlParams(Wire.AuditQuery).addSuccess(Wire.AuditPage))

/** The installation as a whole. */
export const Installation = guarded("installation")
  .add(
    HttpApiEndpoint.post("backUp", "/operator/v1/backups")
      .addSuccess(created(Wire.BackupRecord))
      .addError(Refusal.Wire.Conflict)
  )

/** The whole operator API. Every request carries the operator token as a bearer token. */
export const Api = HttpApi.make("operator")
  .add(Users)
  .add(Applications)
  .add(Subscriptions)
  .add(Registrations)
  .add(Deliveries)
  .add(Audit)
  .add(Installation)

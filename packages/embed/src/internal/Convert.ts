/** Converts values of the core to plain ones, and back. */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Core from "@startlist/core/Application"
import * as CoreSecret from "@startlist/core/ApplicationSecret"
import type * as CoreDelivery from "@startlist/core/Delivery"
import * as CoreGrant from "@startlist/core/Grant"
import type { Exported } from "@startlist/core/PersonalData"
import type * as CoreRegistration from "@startlist/core/Registration"
import type * as CoreSubscription from "@startlist/core/Subscription"
import * as CoreUser from "@startlist/core/User"
import { demand } from "./Check.ts"
import * as Checks from "./Checks.ts"
import type * as Plain from "./Plain.ts"

/** A user that the server gives under this name. */
export const fromUser = (user: Plain.User, name: string): CoreUser.User => {
  demand(Checks.user, user, name)
  const { email, firstName = "", id, lastName = "", role } = user
  return CoreUser.User.make({ id: CoreUser.UserId.make(id), role, email, firstName, lastName })
}

export const toUser = ({ email, firstName, id, lastName, role }: CoreUser.User): Plain.User => ({
  id,
  role,
  email,
  firstName,
  lastName
})

export const toAccess = ({ createdAt, expiresAt, ...access }: CoreGrant.BearerAccess): Plain.Access => ({
  ...access,
  createdAt: DateTime.toDateUtc(createdAt),
  expiresAt: DateTime.toDateUtc(expiresAt)
})

export const toApplication = (
  { createdAt, id, links = {}, name, ownerId, redirectUris, requirePkce }: Core.Application
): Plain.Application => ({
  id,
  name,
  ownerId,
  redirectUris,
  requirePkce,
  links,
  createdAt: DateTime.toDateUtc(createdAt)
})

export const toSecret = ({ expiresAt, number }: CoreSecret.Lifetime): Plain.Secret => ({
  number,
  ...Option.match(expiresAt, { onNone: () => ({}), onSome: (at) => ({ expiresAt: DateTime.toDateUtc(at) }) })
})

export const toSecrets = ({ secrets }: Core.Application, now: DateTime.Utc): Plain.Secrets => ({
  secrets: CoreSecret.live(secrets, now).map(toSecret)
})

export const toSigningSecrets = ({ secrets }: Core.SigningSecrets, now: DateTime.Utc): Plain.SigningSecrets => ({
  secrets: CoreSecret.live(secrets, now).map((secret) => ({ value: Redacted.value(secret.value), ...toSecret(secret) }))
})

export const toAuthorization = (
  { application, grant }: CoreGrant.Authorized,
  now: DateTime.Utc
): Plain.Authorization => ({
  application: toApplication(application),
  role: grant.role,
  scope: grant.scope,
  liveScope: CoreGrant.liveScope(grant, now),
  grantedAt: DateTime.toDateUtc(grant.grantedAt)
})

export const fromParties = (
  { athleteId, clubId, organizerId, platformUserId }: Plain.Parties
): CoreRegistration.Parties => {
  const optional = (id: number | undefined) =>
    Option.map(Option.fromNullable(id), (given) => CoreUser.UserId.make(given))
  return {
    athleteId: CoreUser.UserId.make(athleteId),
    organizerId: optional(organizerId),
    clubId: optional(clubId),
    platformUserId: optional(platformUserId)
  }
}

export const toRegistration = ({ id, parties, updates }: CoreRegistration.Registration): Plain.Registration => ({
  id,
  parties: {
    athleteId: parties.athleteId,
    organizerId: Option.getOrUndefined(parties.organizerId),
    clubId: Option.getOrUndefined(parties.clubId),
    platformUserId: Option.getOrUndefined(parties.platformUserId)
  },
  updates
})

export const toPersonalData = ({ grants, registrations }: Exported, now: DateTime.Utc): Plain.PersonalData => ({
  grants: grants.map((one) => toAuthorization(one, now)),
  registrations: registrations.map(toRegistration)
})

export const toSubscription = (
  { applicationId, callbackUrl, createdAt, id, updatedAt }: CoreSubscription.Subscription
): Plain.Subscription => ({
  id,
  applicationId,
  callbackUrl,
  createdAt: DateTime.toDateUtc(createdAt),
  updatedAt: DateTime.toDateUtc(updatedAt)
})

export const toDelivery = (
  { applicationId, attempts, event, id, state, subscriptionId }: CoreDelivery.Delivery
): Plain.Delivery => ({
  id,
  applicationId,
  subscriptionId,
  eventId: event.id,
  objectType: event.objectType,
  objectId: event.objectId,
  state,
  eventTime: DateTime.toDateUtc(event.time),
  attempts: attempts.map(({ at, status, ...attempt }) => ({
    ...attempt,
    at: DateTime.toDateUtc(at),
    status: Option.getOrUndefined(status)
  }))
})

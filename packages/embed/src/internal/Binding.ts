/** Implements the calls with the services of the core. */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ApplicationId } from "@startlist/core/Application"
import { Applications, type Registered } from "@startlist/core/Applications"
import { Deliveries } from "@startlist/core/Deliveries"
import { DeliveryId } from "@startlist/core/Delivery"
import { Sequence, Updates } from "@startlist/core/Event"
import { OAuth } from "@startlist/core/OAuth"
import { PersonalData } from "@startlist/core/PersonalData"
import { emptyUpdates, type Registration, RegistrationId } from "@startlist/core/Registration"
import { Registrations } from "@startlist/core/Registrations"
import type { Services } from "@startlist/core/Services"
import { StoreError } from "@startlist/core/Store"
import { Subscriptions } from "@startlist/core/Subscriptions"
import { UserId } from "@startlist/core/User"
import type { Calls, Rotation } from "./Calls.ts"
import { demand } from "./Check.ts"
import * as Checks from "./Checks.ts"
import * as Convert from "./Convert.ts"
import * as Importing from "./Importing.ts"
import type * as Plain from "./Plain.ts"
import type { Run } from "./Draining.ts"

const notFound = { ok: false, reason: "not_found" } as const

const impossible = (field: string) => ({ reason: "invalid", field, message: "no user has this identifier" }) as const

const impossibleObject = {
  ok: false,
  reason: "invalid",
  field: "object_id",
  message: "a positive integer below 2^53"
} as const

const invalid = (problem: { readonly field: string; readonly message: string }) =>
  Effect.succeed({ ok: false, reason: "invalid", field: problem.field, message: problem.message } as const)

/** Parses an identifier. None for any other number. */
const identify = <A extends number>(schema: Schema.Schema<A, number>) => {
  const isId = Schema.is(schema)
  return (id: number): Option.Option<A> => isId(id) ? Option.some(id) : Option.none()
}

const applicationOf = identify(ApplicationId)
const deliveryOf = identify(DeliveryId)
const registrationOf = identify(RegistrationId)
const userOf = identify(UserId)

/** A filter by identifier. Without an identifier it matches everything; with an invalid one, nothing. */
const only = <A>(id: number | undefined, of: (id: number) => Option.Option<A>): Option.Option<Option.Option<A>> =>
  id === undefined ? Option.some(Option.none()) : Option.map(of(id), Option.some)

const isSequence = Schema.is(Sequence)
const isUpdate = Schema.is(Schema.partialWith(Updates, { exact: true }))
const names = Object.keys(Updates.fields)

/** The first field with an unknown name, with the wrong type, or that no store can save. `all`: each must be there. */
const impossibleUpdate = (updates: Partial<Updates>, all = false): Plain.Invalid | undefined => {
  const given = Object.keys(updates)
  const unknown = given.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    return { reason: "invalid", field: unknown, message: `there is no such field; use ${names.join(", ")}` }
  }
  const missing = all ? names.find((name) => !given.includes(name)) : undefined
  if (missing !== undefined) return { reason: "invalid", field: missing, message: "is missing" }
  const wrong = Object.entries(updates).find(([field, value]) => !isUpdate({ [field]: value }))
  return wrong === undefined ? undefined : {
    reason: "invalid",
    field: wrong[0],
    message: "must be text without NUL and unpaired surrogates (reasons: a list of such texts)"
  }
}

const withSecret = ({ application, secret }: Registered) => ({
  ok: true,
  application: Convert.toApplication(application),
  secret: Redacted.value(secret)
} as const)

/** An overlap that cannot be read must not count as none, which would end all other secrets. */
const rotationOf = (rotation: Rotation = {}) => {
  demand(Checks.rotation, rotation, "rotation")
  const { overlapSeconds } = rotation
  return { overlap: overlapSeconds === undefined ? undefined : Duration.seconds(overlapSeconds) }
}

/** The first field with an invalid identifier, by its name on the wire. */
const impossibleParty = ({ athleteId, clubId, organizerId, platformUserId }: Plain.Parties): string | undefined =>
  Object.entries({
    athlete_id: athleteId,
    organizer_id: organizerId,
    club_id: clubId,
    platform_user_id: platformUserId
  }).find(([, id]) => id !== undefined && Option.isNone(userOf(id)))?.[0]

const toRegistration = (registration: Registration) =>
  ({ ok: true, registration: Convert.toRegistration(registration) }) as const

/** Binds the services to `run`. */
export const make = (run: Run): Effect.Effect<Calls, never, Services | Importing.Ports> =>
  Effect.gen(function*() {
    const applications = yield* Applications
    const registrations = yield* Registrations
    const oauth = yield* OAuth
    const subscriptions = yield* Subscriptions
    const deliveries = yield* Deliveries
    const personalData = yield* PersonalData

    /** Runs an effect with an identifier, if the number is one. */
    const onId = <I, A, B>(
      id: Option.Option<I>,
      otherwise: B,
      use: (id: I) => Effect.Effect<A, StoreError>
    ): Promise<A | B> => Option.isNone(id) ? Promise.resolve(otherwise) : run(use(id.value))

    /** Finds or changes secrets of an application. */
    const onSecrets = <A, B extends object>(
      id: number,
      use: (id: ApplicationId) => Applications.Changed<A>,
      show: (found: A, now: DateTime.Utc) => B
    ) =>
      onId(applicationOf(id), notFound, (application) =>
        Effect.zipWith(use(application), DateTime.now, (found, now) =>
          ({ ok: true, ...show(found, now) }) as const)
          .pipe(Effect.catchTags({
            "@startlist/core/ApplicationNotFound": () =>
              Effect.succeed(notFound),
            "@startlist/core/SecretRefused": ({ message, reason }) =>
              Effect.succeed({ ok: false, reason, message } as const)
          })))

    return {
      import: yield* Importing.make(run),
      applications: {
        create: async (ownerId, settings) => {
          demand(Checks.newSettings, settings, "settings")
          return onId(
            userOf(ownerId),
            { ok: false, ...impossible("owner_id") },
            (owner) =>
              applications.create(owner, { ...settings, requirePkce: settings.requirePkce ?? false }).pipe(
                Effect.map((made) => ({ ...withSecret(made), signingSecret: Redacted.value(made.signingSecret) })),
                Effect.catchTags({
                  "@startlist/core/InvalidApplication": invalid,
                  "@startlist/core/Conflict": Effect.die
                })
              )
          )
        },
        change: async (id, change) => {
          demand(Checks.change, change, "settings")
          const { ownerId, ...settings } = change
          const owner = only(ownerId, userOf)
          if (Option.isNone(owner)) {
            return { ok: false, ...impossible("owner_id") }
          }
          const given = Option.isNone(owner.value) ? settings : { ...settings, ownerId: owner.value.value }
          return onId(applicationOf(id), notFound, (application) =>
            applications.change(application, given).pipe(
              Effect.map((changed) =>
                ({ ok: true, application: Convert.toApplication(changed) }) as const
              ),
              Effect.catchTags({
                "@startlist/core/ApplicationNotFound": () => Effect.succeed(notFound),
                "@startlist/core/InvalidApplication": invalid
              })
            ))
        },
        end: (id) =>
          onId(applicationOf(id), notFound, (application) =>
            applications.end(application).pipe(
              Effect.as({ ok: true } as const),
              Effect.catchTag("@startlist/core/ApplicationNotFound", () => Effect.succeed(notFound))
            )),
        rotateSecret: async (id, rotation) =>
          onSecrets(id, (one) => applications.rotateSecret(one, rotationOf(rotation)), withSecret),
        secrets: (id) => onSecrets(id, applications.find, Convert.toSecrets),
        endSecret: (id, number) => onSecrets(id, (one) => applications.endSecret(one, number), Convert.toSecrets),
        signingSecrets: (id) => onSecrets(id, applications.signingSecrets, Convert.toSigningSecrets),
        rotateSigningSecret: async (id, rotation) =>
          onSecrets(id, (one) => applications.rotateSigningSecret(one, rotationOf(rotation)), Convert.toSigningSecrets),
        endSigningSecret: (id, number) =>
          onSecrets(id, (one) => applications.endSigningSecret(one, number), Convert.toSigningSecrets),
        find: (id) =>
          onId(applicationOf(id), undefined, (application) =>
            applications.find(application).pipe(
              Effect.map(Convert.toApplication),
              Effect.catchTag("@startlist/core/ApplicationNotFound", () => Effect.succeed(undefined))
            )),
        list: async (filter = {}) => {
          demand(Checks.applicationFilter, filter, "filter")
          const { after, limit = 100, ownerId } = filter
          return onId(
            Option.all({ owner: only(ownerId, userOf), after: only(after, applicationOf) }),
            [],
            (wanted) => Effect.map(applications.list({ ...wanted, limit }), (found) => found.map(Convert.toApplication))
          )
        }
      },
      registrations: {
        create: async (parties, updates = {}) => {
          demand(Checks.parties, parties, "parties")
          demand(Checks.anyObject, updates, "updates")
          const field = impossibleParty(parties)
          if (field !== undefined) return { ok: false, ...impossible(field) }
          const wrong = impossibleUpdate(updates)
          if (wrong !== undefined) return { ok: false, ...wrong }
          return run(
            registrations.create({
              parties: Convert.fromParties(parties),
              updates: { ...emptyUpdates, ...updates }
            }).pipe(
              Effect.map(toRegistration),
              Effect.catchTag("@startlist/core/InvalidParty", invalid)
            )
          )
        },
        find: (id) =>
          onId(registrationOf(id), undefined, (registration) =>
            registrations.find(registration).pipe(
              Effect.map(Convert.toRegistration),
              Effect.catchTag("@startlist/core/RegistrationNotFound", () => Effect.succeed(undefined))
            )),
        change: async (id, updates) => {
          demand(Checks.anyObject, updates, "updates")
          const wrong = impossibleUpdate(updates)
          return wrong !== undefined
            ? { ok: false, ...wrong }
            : onId(registrationOf(id), notFound, (registration) =>
              registrations.change(registration, updates).pipe(
                Effect.map(toRegistration),
                Effect.catchTag("@startlist/core/RegistrationNotFound", () => Effect.succeed(notFound))
              ))
        }
      },
      events: {
        registrationChanged: async (changed) => {
          demand(Checks.changed, changed, "changed")
          const { id, parties, sequence, updates } = changed
          const field = impossibleParty(parties)
          if (field !== undefined) return { ok: false, ...impossible(field) }
          const registration = registrationOf(id)
          if (Option.isNone(registration)) return impossibleObject
          const wrong = impossibleUpdate(updates, true)
          if (wrong !== undefined) return { ok: false, ...wrong }
          if (sequence !== undefined && !isSequence(sequence)) {
            return { ok: false, reason: "invalid", field: "sequence", message: "an integer from 0 to 2^53 - 1" }
          }
          const notified = { id: registration.value, parties: Convert.fromParties(parties), sequence, updates }
          return run(Effect.map(registrations.notify(notified), (eventId) => ({ ok: true, eventId }) as const))
        }
      },
      grants: {
        list: (userId) =>
          onId(
            userOf(userId),
            [],
            (user) =>
              Effect.map(
                Effect.all([oauth.authorized(user), DateTime.now]),
                ([found, now]) => found.map((one) => Convert.toAuthorization(one, now))
              )
          ),
        revoke: (applicationId, userId) =>
          onId(
            Option.all([applicationOf(applicationId), userOf(userId)]),
            notFound,
            ([application, user]) =>
              oauth.revokeByUser(application, user).pipe(
                Effect.as({ ok: true } as const),
                Effect.catchTag("@startlist/core/GrantNotFound", () => Effect.succeed(notFound))
              )
          )
      },
      personalData: {
        export: (userId) =>
          onId(userOf(userId), { grants: [], registrations: [] }, (user) =>
            Effect.zipWith(personalData.export(user), DateTime.now, Convert.toPersonalData)),
        erase: async (userId, registrationIds = []) => {
          demand(Checks.anyList, registrationIds, "registrationIds")
          const ids = Option.all(registrationIds.map(registrationOf))
          if (Option.isNone(ids)) {
            return impossibleObject
          }
          return onId(
            userOf(userId),
            { ok: false, ...impossible("user_id") },
            (user) =>
              Effect.map(personalData.erase(user, ids.value), (revoked) =>
                ({ ok: true, revoked }) as const).pipe(
                  Effect.catchTag("@startlist/core/OwnsApplications", () =>
                    Effect.succeed({ ok: false, reason: "owns_applications" } as const))
                )
          )
        }
      },
      subscriptions: {
        find: (applicationId) =>
          onId(applicationOf(applicationId), undefined, (application) =>
            Effect.map(
              subscriptions.findByApplication(application),
              (found) =>
                Option.getOrUndefined(Option.map(found, Convert.toSubscription))
            ))
      },
      deliveries: {
        list: async (filter = {}) => {
          demand(Checks.deliveryFilter, filter, "filter")
          const { after, applicationId, limit = 100, state } = filter
          return onId(
            Option.all({ applicationId: only(applicationId, applicationOf), after: only(after, deliveryOf) }),
            [],
            (wanted) =>
              Effect.map(
                deliveries.list({ ...wanted, state: Option.fromNullable(state), limit }),
                (found) => found.map(Convert.toDelivery)
              )
          )
        },
        redeliver: (id) =>
          onId(deliveryOf(id), notFound, (delivery) =>
            deliveries.redeliver(delivery).pipe(
              Effect.map((again) => ({ ok: true, delivery: Convert.toDelivery(again) }) as const),
              Effect.catchTags({
                "@startlist/core/DeliveryNotFound": () => Effect.succeed(notFound),
                "@startlist/core/SubscriptionNotFound": () => Effect.succeed(notFound)
              })
            ))
      }
    }
  })

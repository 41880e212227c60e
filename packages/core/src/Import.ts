/**
 * Import of the records of a former server, without a new consent of its users. A record keeps its identifier. Importing
 * twice is importing once: a record that is here already stays as it is.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type Application, type ApplicationId, ApplicationStore, checkRedirectUris } from "./Application.ts"
import * as ApplicationName from "./ApplicationName.ts"
import { first } from "./ApplicationSecret.ts"
import { parseScope } from "./Authorization.ts"
import { Callbacks } from "./Callbacks.ts"
import { ImportedHashes } from "./Client.ts"
import { asOf, type Grant, GrantStore } from "./Grant.ts"
import {
  type ApplicationRecord,
  fingerprintOf,
  type GrantRecord,
  ImportRefused,
  type Outcome,
  type Record,
  type RegistrationRecord,
  type SubscriptionRecord
} from "./ImportRecord.ts"
import { importedSalt, type ImportedToken, ImportStore } from "./ImportStore.ts"
import { PersonStore } from "./PersonalData.ts"
import { Platform } from "./Platform.ts"
import { Policy } from "./Policy.ts"
import { RegistrationStore } from "./Registration.ts"
import { Fingerprint, Secrets, shortened } from "./Secrets.ts"
import { type StoreError, unsafeBrand, untilSaved } from "./Store.ts"
import { SubscriptionId, SubscriptionStore } from "./Subscription.ts"
import { isOver } from "./Token.ts"
import { type Role, type UserId, UserStore } from "./User.ts"

/**
 * Imports records. Users first, then applications, then the others.
 * @example
 * ```ts
 * import { Import, type ImportRecord } from "@startlist/core"
 * import { Effect } from "effect"
 * export const add = (record: ImportRecord.Record) => Effect.flatMap(Import.Import, ({ add }) => add(record))
 * ```
 */
export class Import extends Context.Tag("@startlist/core/Import")<Import, Import.Service>() {}

export declare namespace Import {
  export interface Service {
    /** Imports a record, atomically. It may be repeated, also while nodes serve requests. */
    readonly add: (record: Record) => Effect.Effect<Outcome, ImportRefused | StoreError>
  }
}

const refuse = (message: string) => new ImportRefused({ message })

/**
 * Whether a grant is as an import left it: nobody has refreshed, consented or revoked here. Only then may a later import
 * change it.
 */
const isUntouched = ({ codes, epoch, generation, lineStart, refresh, status }: Grant): boolean =>
  status === "active" && epoch === 1 && generation === 1 && lineStart === 1 && codes.length === 0 &&
  Option.getOrElse(refresh, () => ({ salt: importedSalt })).salt === importedSalt

/** Whether a grant has the tokens of a later export than another one. */
const isLater = (given: Grant, present: Grant): boolean => {
  const issued = ({ grantedAt, refresh }: Grant) =>
    Option.match(refresh, { onNone: () => grantedAt, onSome: (one) => one.issuedAt })
  const isSame =
    (Option.isNone(given.refresh) || given.refresh.value.hash === Option.getOrNull(present.refresh)?.hash) &&
    given.access.every(({ hash }) => present.access.some((one) => one.hash === hash))
  return !isSame && issued(given).epochMillis >= issued(present).epochMillis
}

/** Decides about a grant of the former server: the grant to save, and what that does. None if the present one stays. */
export const decide = (
  present: Option.Option<Grant>,
  given: Grant
): Option.Option<{ readonly grant: Grant; readonly outcome: Outcome }> => {
  if (Option.isNone(present)) {
    return given.status === "active" ? Option.some({ grant: given, outcome: "added" }) : Option.none()
  }
  const isNews = given.status === "revoked" || isLater(given, present.value)
  return isUntouched(present.value) && isNews
    ? Option.some({ grant: { ...given, version: present.value.version + 1 }, outcome: "updated" })
    : Option.none()
}

/** Makes the service. With `dryRun`, it checks the records and says what it would do, but saves nothing. */
export const make = ({ dryRun = false }: { readonly dryRun?: boolean } = {}) =>
  Effect.gen(function*() {
    const applications = yield* ApplicationStore
    const callbacks = yield* Callbacks
    const grants = yield* GrantStore
    const hashes = yield* Effect.serviceOption(ImportedHashes)
    const persons = yield* PersonStore
    const platform = yield* Platform
    const policy = yield* Policy
    const registrations = yield* RegistrationStore
    const secrets = yield* Secrets
    const store = yield* ImportStore
    const subscriptions = yield* SubscriptionStore
    const users = yield* UserStore
    /** Applications that a dry run would have added. */
    const planned = new Map<ApplicationId, Application>()
    /** Identifiers of refused applications that other applications have here. Records that name them are refused, too. */
    const mistaken = new Set<ApplicationId>()

    const saving = <A, E>(outcome: Outcome, save: Effect.Effect<A, E>): Effect.Effect<Outcome, E> =>
      dryRun ? Effect.succeed(outcome) : Effect.as(save, outcome)

    const inserting = <E>(insert: Effect.Effect<boolean, E>): Effect.Effect<Outcome, E> =>
      dryRun ? Effect.succeed("added") : Effect.map(insert, (isInserted) => isInserted ? "added" : "unchanged")

    const findApplication = Effect.fnUntraced(function*(id: ApplicationId) {
      if (mistaken.has(id)) return yield* refuse(`client_id: ${id} is another application`)
      const found = Option.orElse(yield* applications.find(id), () => Option.fromNullable(planned.get(id)))
      if (Option.isNone(found)) return yield* refuse(`client_id: there is no application ${id}`)
      return found.value
    })

    const roleOf = Effect.fnUntraced(function*(field: string, id: UserId, role?: Role) {
      const user = yield* users.find(id)
      if (Option.isNone(user)) return yield* refuse(`${field}: there is no user ${id}`)
      return role === undefined || user.value.role === role
        ? user.value.role
        : yield* refuse(`${field}: the user ${id} must have the role ${role}`)
    })

    const secretHash = (text: string) =>
      Option.match(fingerprintOf(text), {
        onSome: Effect.succeed,
        onNone: () => {
          const unknown = "is neither a SHA-256 nor a hash that this installation can check"
          const problem = Option.isNone(hashes) ? Option.some(unknown) : hashes.value.problem(text)
          return Option.isNone(problem)
            ? Effect.succeed(unsafeBrand(Fingerprint, text))
            : refuse(`secret_hash: ${problem.value}`)
        }
      })

    const addApplication = Effect.fnUntraced(function*(record: typeof ApplicationRecord.Type) {
      const { client_id: id, created_at: createdAt, name, owner_id: ownerId, redirect_uris: redirectUris } = record
      const present = yield* applications.find(id)
      mistaken.delete(id)
      if (Option.isSome(present)) {
        if (present.value.createdAt.epochMillis === createdAt.epochMillis) return "unchanged"
        mistaken.add(id)
        return yield* refuse(
          `client_id: ${id} is another application, created at ${DateTime.formatIso(present.value.createdAt)}`
        )
      }
      const problem = ApplicationName.problemOf(name, platform.name)
      if (Option.isSome(problem)) return yield* refuse(`name: ${problem.value}`)
      yield* Effect.mapError(checkRedirectUris(redirectUris), ({ message }) => refuse(`redirect_uris: ${message}`))
      yield* roleOf("owner_id", ownerId, "platform")
      const application: Application = {
        id,
        version: 1,
        ownerId,
        state: "active",
        epoch: 0,
        name,
        redirectUris,
        requirePkce: record.require_pkce ?? false,
        links: {},
        secrets: [{ ...first, hash: yield* secretHash(record.secret_hash) }],
        createdAt
      }
      if (dryRun) planned.set(id, application)
      return yield* inserting(Effect.flatMap(
        secrets.makeSigning,
        (signingSecret) => store.insertApplication(application, signingSecret)
      )).pipe(Effect.catchTag("@startlist/core/UserErased", () => refuse(`owner_id: the user ${ownerId} was erased`)))
    })

    const toScope = Effect.fnUntraced(function*(text: string) {
      const scope = parseScope(text)
      const unknown = scope.find((name) => !policy.scopes.includes(name))
      if (unknown !== undefined) return yield* refuse(`scope: ${JSON.stringify(unknown)} is not configured`)
      return scope.length === 0 ? yield* refuse("scope: it is empty") : scope
    })

    /** The grant of a record, and its tokens. */
    const toGrant = Effect.fnUntraced(function*(record: typeof GrantRecord.Type, epoch: number, now: DateTime.Utc) {
      const { client_id: applicationId, refresh_token: refresh, user_id: userId } = record
      const isActive = record.revoked !== true
      const role = yield* roleOf("user_id", userId)
      const scope = yield* toScope(record.scope)
      const tokens: Array<ImportedToken> = []
      const keep = (kind: ImportedToken["kind"], text: string, expiresAt: DateTime.Utc) => {
        const hash = shortened(Option.getOrThrow(fingerprintOf(text)))
        if (isOver(expiresAt, now) || !isActive) return []
        tokens.push({ hash, kind, applicationId, userId, expiresAt })
        return [{ hash, expiresAt }]
      }
      const refreshEnds = refresh?.expires_at ?? DateTime.addDuration(now, policy.refreshTokenIdle)
      const [current] = refresh == null ? [] : keep("refresh", refresh.hash, refreshEnds)
      const access = yield* Effect.forEach(record.access_tokens ?? [], (token) =>
        Effect.map(token.scope == null ? Effect.succeed(scope) : toScope(token.scope), (scope) =>
          keep("access", token.hash, token.expires_at).map((kept) => ({
            ...kept,
            scope,
            createdAt: token.created_at
          }))))
      const grant: Grant = {
        applicationId,
        userId,
        version: 1,
        status: isActive ? "active" : "revoked",
        role,
        scope,
        epoch: 1,
        applicationEpoch: epoch,
        generation: 1,
        lineStart: 1,
        grantedAt: record.granted_at,
        refresh: current === undefined || refresh == null
          ? Option.none()
          : Option.some({ ...current, salt: importedSalt, issuedAt: refresh.issued_at }),
        access: access.flat().sort((one, other) =>
          one.expiresAt.epochMillis - other.expiresAt.epochMillis
        ).slice(
          -policy.maxAccessTokens
        ),
        codes: []
      }
      return { grant, tokens }
    })

    const addGrant = Effect.fnUntraced(function*(record: typeof GrantRecord.Type) {
      const { client_id: applicationId, user_id: userId } = record
      const now = yield* DateTime.now
      return yield* untilSaved(Effect.gen(function*() {
        if (yield* persons.isErased(userId)) return "unchanged"
        const { epoch, state } = yield* findApplication(applicationId)
        if (state === "ended") return yield* refuse(`client_id: the application ${applicationId} has ended`)
        const { grant, tokens } = yield* toGrant(record, epoch, now)
        const present = Option.map(yield* grants.find(applicationId, userId), asOf)
        return yield* Option.match(decide(present, grant), {
          onNone: () => Effect.succeed<Outcome>("unchanged"),
          onSome: ({ grant, outcome }) => saving(outcome, store.saveGrant({ grant, outgoing: [] }, tokens))
        })
      }))
    })

    const addSubscription = Effect.fnUntraced(function*(record: typeof SubscriptionRecord.Type) {
      const { callback_url: callbackUrl, client_id: applicationId, created_at: createdAt, id } = record
      yield* findApplication(applicationId)
      const problem = callbacks.problem(callbackUrl)
      if (Option.isSome(problem)) return yield* refuse(`callback_url: it cannot be called (${problem.value})`)
      const present = yield* subscriptions.findByApplication(applicationId)
      if (Option.isSome(present)) {
        return present.value.id === id
          ? "unchanged"
          : yield* refuse(`client_id: the application ${applicationId} has another subscription, ${present.value.id}`)
      }
      const before = Option.some(unsafeBrand(SubscriptionId, id + 1))
      const [holder] = yield* subscriptions.list({ after: before, limit: 1 })
      if (holder?.id === id) {
        return yield* refuse(`id: ${id} is the subscription of another application, ${holder.applicationId}`)
      }
      const updatedAt = record.updated_at ?? createdAt
      const subscription = { id, version: 1, applicationId, callbackUrl, createdAt, updatedAt }
      return yield* untilSaved(Effect.gen(function*() {
        const given = record.signing_secret
        const held = given == null ? Option.none() : yield* applications.findSigningSecrets(applicationId)
        const signing = Option.map(held, (found) => ({
          ...found,
          version: found.version + 1,
          secrets: [{ ...first, number: (found.secrets[0]?.number ?? 0) + 1, value: Redacted.make(given ?? "") }]
        }))
        return yield* inserting(
          store.insertSubscription({ ...subscription, paused: false, pausedByOperator: false }, signing)
        )
      })).pipe(Effect.catchTags({
        "@startlist/core/AlreadySubscribed": () =>
          refuse(`client_id: the application ${applicationId} has a subscription`),
        "@startlist/core/ApplicationNotFound": () => refuse(`client_id: the application ${applicationId} has ended`)
      }))
    })

    const addRegistration = Effect.fnUntraced(function*(record: typeof RegistrationRecord.Type) {
      const { athlete_id, club_id, id, organizer_id, platform_user_id } = record
      if (yield* persons.isErased(athlete_id)) return "unchanged"
      const present = yield* registrations.find(id)
      if (Option.isSome(present)) {
        return present.value.parties.athleteId === athlete_id
          ? "unchanged"
          : yield* refuse(`id: the registration ${id} has another athlete, ${present.value.parties.athleteId}`)
      }
      yield* roleOf("athlete_id", athlete_id, "athlete")
      const others = [["organizer_id", organizer_id, "organizer"], ["club_id", club_id, "club"], [
        "platform_user_id",
        platform_user_id,
        "platform"
      ]] as const
      for (const [field, party, role] of others) if (party != null) yield* roleOf(field, party, role)
      return yield* inserting(store.insertRegistration({
        id,
        version: 1,
        parties: {
          athleteId: athlete_id,
          organizerId: Option.fromNullable(organizer_id),
          clubId: Option.fromNullable(club_id),
          platformUserId: Option.fromNullable(platform_user_id)
        },
        updates: {
          platform_id: record.platform_id ?? "",
          registration_status: record.registration_status ?? "",
          document_type: record.document_type ?? "",
          document_status: record.document_status ?? "",
          reasons: record.reasons ?? [],
          comment: record.comment ?? ""
        }
      })).pipe(Effect.catchTag("@startlist/core/Conflict", () => Effect.succeed<Outcome>("unchanged")))
    })

    return Import.of({
      add: Effect.fn("Import.add")((record): Effect.Effect<Outcome, ImportRefused | StoreError> => {
        switch (record.kind) {
          case "application":
            return addApplication(record)
          case "grant":
            return addGrant(record)
          case "subscription":
            return addSubscription(record)
          case "registration":
            return addRegistration(record)
        }
      })
    })
  })

/** The service over its ports. */
export const layer = Layer.effect(Import, make())

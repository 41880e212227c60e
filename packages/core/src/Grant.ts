/**
 * The grant of one user to one application, with all its codes and tokens, as one record.
 *
 * Invariants of the transitions below and of the compare-and-set of `GrantStore.save`:
 *
 * - `version` counts the saves. It orders consents, exchanges, refreshes and revocations.
 * - `epoch` counts the lives of the grant. A revocation ends one, and removes all codes and tokens.
 * - `applicationEpoch` is the epoch of the application when this life began. If the application has a later one, all
 *   its grants were revoked since: see `asOf`.
 * - `generation` counts the refresh tokens. Only the current one is stored, by its fingerprint. A refresh token names
 *   its epoch and generation, so an older one is recognised if a key of the service made it.
 * - A line is the tokens of one exchange and of the refreshes after it. The present one began with the generation
 *   `lineStart`. Every generation has one access token, so those of the line are the last ones of `access`. Only an
 *   imported grant may have more of its first generation: in the first line of a grant, all tokens are of the line.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Application, ApplicationId, type ApplicationState, ApplicationStore } from "./Application.ts"
import type { AuthorizationRequest } from "./Authorization.ts"
import { Audience, type EventOrigin, type Outgoing } from "./Event.ts"
import type { Policy } from "./Policy.ts"
import type { Fingerprint } from "./Secrets.ts"
import { type Conflict, type StoreError, Version } from "./Store.ts"
import { AccessToken, Code, isOver, RefreshToken, Scope } from "./Token.ts"
import { Role, type User, UserId } from "./User.ts"

/** The grant as it is stored. */
export const Grant = Schema.Struct({
  applicationId: ApplicationId,
  userId: UserId,
  version: Version,
  status: Schema.Literal("active", "revoked"),
  role: Role,
  scope: Scope,
  epoch: Schema.NonNegativeInt,
  applicationEpoch: Schema.NonNegativeInt,
  generation: Schema.NonNegativeInt,
  /** The generation with which the present line began. The next one if there is no line. */
  lineStart: Schema.NonNegativeInt,
  /** First consent of the present epoch. */
  grantedAt: Schema.DateTimeUtcFromNumber,
  /** The current refresh token. None before the first code is exchanged, and after the end of its line or the grant. */
  refresh: Schema.OptionFromNullOr(RefreshToken),
  /** Access tokens, oldest first. The next save removes expired ones at the front. */
  access: Schema.Array(AccessToken),
  /** Codes within their lifetime, pending or used, oldest first. The next save removes expired ones. */
  codes: Schema.Array(Code)
})
export type Grant = typeof Grant.Type

/** A grant and its application at the same moment. */
export interface Found {
  readonly grant: Grant
  readonly application: ApplicationState
}

/** The grant with the present state of its application: revoked and empty if all grants of the application were. */
export const asOf = ({ application, grant }: Found): Grant =>
  grant.applicationEpoch === application.epoch
    ? grant
    : { ...grant, status: "revoked", refresh: Option.none(), access: [], codes: [] }

/** One atomic save: the grant at its next version, and the events of the decision. */
export interface Change {
  readonly grant: Grant
  readonly outgoing: ReadonlyArray<Outgoing>
}

/** Whether a code or token has not expired. */
export const isLive = (now: DateTime.Utc) => ({ expiresAt }: { readonly expiresAt: DateTime.Utc }): boolean =>
  !isOver(expiresAt, now)

/** Keeps expired tokens behind a live one: the present line is the last tokens, by their number. */
export const withoutExpired = (access: Grant["access"], now: DateTime.Utc): Grant["access"] =>
  Arr.dropWhile(access, ({ expiresAt }) => isOver(expiresAt, now))

/** The consent of a user to a request. A request from an earlier epoch of the application gives a revoked grant. */
export interface Consent extends Pick<AuthorizationRequest, "challenge" | "redirectUri" | "scope" | "state"> {
  readonly application: Pick<Application, "epoch" | "id">
  readonly user: Pick<User, "id" | "role">
}

/**
 * Adds a pending code to the present life of the grant, where nothing else changes until the code is redeemed. Begins a
 * new life if the grant is not active, or the user has another role since: tokens have the role of their life.
 */
export const consent = (
  existing: Option.Option<Grant>,
  consented: Consent,
  code: Fingerprint,
  now: DateTime.Utc,
  policy: Policy.Service
): Change => {
  const { application, challenge, redirectUri, scope, state, user } = consented
  const before = Option.getOrUndefined(existing)
  const pending: Code = {
    hash: code,
    redirectUri,
    scope,
    state,
    challenge,
    expiresAt: DateTime.addDuration(now, policy.codeLifetime),
    redeemed: Option.none()
  }
  const version = (before?.version ?? 0) + 1
  const grant: Grant = before?.status === "active" && before.role === user.role
    ? {
      ...before,
      version,
      access: withoutExpired(before.access, now),
      codes: [...before.codes.filter(isLive(now)), pending].slice(-policy.maxCodes)
    }
    : {
      applicationId: application.id,
      userId: user.id,
      version,
      status: "active",
      role: user.role,
      scope,
      epoch: (before?.epoch ?? 0) + 1,
      applicationEpoch: application.epoch,
      generation: before?.generation ?? 0,
      lineStart: (before?.generation ?? 0) + 1,
      grantedAt: now,
      refresh: Option.none(),
      access: [],
      codes: [pending]
    }
  return { grant, outgoing: [] }
}

const withoutRefresh = (grant: Grant, changes: Partial<Grant>): Change => ({
  grant: { ...grant, version: grant.version + 1, refresh: Option.none(), ...changes },
  outgoing: []
})

/** Ends the present line: its refresh token and its access tokens. The consent, other lines and pending codes stay. */
export const revokeLine = (grant: Grant): Change =>
  withoutRefresh(grant, {
    lineStart: grant.generation + 1,
    access: grant.lineStart === 1 ? [] : Arr.dropRight(grant.access, grant.generation - grant.lineStart + 1)
  })

/** Ends this life of the grant: its codes and tokens are invalid when the change is saved. */
export const revoke = (grant: Grant): Change => withoutRefresh(grant, { status: "revoked", access: [], codes: [] })

/** Revokes on behalf of the user. The application of an athlete or organizer is notified (requirements §6.1). */
export const revokeByUser = (grant: Grant, origin: EventOrigin): Change => ({
  ...revoke(grant),
  outgoing: grant.role === "athlete" || grant.role === "organizer"
    ? [{
      event: {
        aspectType: "deleted",
        objectType: grant.role,
        objectId: grant.userId,
        sequence: grant.version + 1,
        updates: {},
        ...origin
      },
      audience: Audience.Application({ applicationId: grant.applicationId })
    }]
    : []
})

/** The token is unknown, expired, replaced or revoked (RFC 6750 §3.1, requirements §7). */
export class InvalidToken extends Schema.TaggedError<InvalidToken>()("@startlist/core/InvalidToken", {}) {}

/** The user, application and scope of an access token, and the limit of the application. */
export interface BearerAccess
  extends
    Pick<Grant, "applicationId" | "userId" | "role">,
    Pick<AccessToken, "scope" | "createdAt" | "expiresAt">,
    Pick<ApplicationState, "requestsPerMinute">
{}

/** The access that a token gives to its bearer, if it is in the grant and has not expired (requirements §4.5). */
export const accessOf = (grant: Grant, token: Fingerprint, now: DateTime.Utc): Option.Option<BearerAccess> => {
  // The newest first, which clients use most.
  const found = grant.access.findLast(({ hash }) => hash === token)
  if (found === undefined || isOver(found.expiresAt, now)) return Option.none()
  const { applicationId, role, userId } = grant
  const { createdAt, expiresAt, scope } = found
  return Option.some({ applicationId, userId, role, scope, createdAt, expiresAt })
}

/** The scopes of the grant and of its live tokens, which may be those of an earlier, broader consent. */
export const liveScope = ({ access, scope }: Grant, now: DateTime.Utc): Scope => [
  ...new Set([...scope, ...access.filter(isLive(now)).flatMap((token) => token.scope)])
]

/** The description of a live token (RFC 7662 §2.2). */
export interface Introspection extends Omit<BearerAccess, "role" | "requestsPerMinute"> {
  readonly kind: "access" | "refresh"
}

/** Describes an access token, or a refresh token that can be used now. */
export const describeToken = (
  grant: Grant,
  token: Fingerprint,
  kind: Introspection["kind"],
  now: DateTime.Utc
): Option.Option<Introspection> => {
  if (kind === "access") return Option.map(accessOf(grant, token, now), (access) => ({ ...access, kind }))
  const { applicationId, refresh, scope, userId } = grant
  return refresh.pipe(
    Option.filter(({ expiresAt, hash }) => hash === token && !isOver(expiresAt, now)),
    Option.map(({ expiresAt, issuedAt }) => ({ kind, applicationId, userId, scope, createdAt: issuedAt, expiresAt }))
  )
}

/** Store of grants. Every method is atomic, and a find sees every save that has returned, on any node. */
export class GrantStore extends Context.Tag("@startlist/core/GrantStore")<GrantStore, GrantStore.Service>() {}

export declare namespace GrantStore {
  export interface Service {
    /** Finds the grant and its application at one moment. One lookup, because every check of a bearer makes it. */
    readonly find: (applicationId: ApplicationId, userId: UserId) => Effect.Effect<Option.Option<Found>, StoreError>
    /** The user's active grants in the present epochs of their applications, oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /** At most `limit` of the active grants of an application in its present epoch, in any order. */
    readonly listByApplication: (
      applicationId: ApplicationId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Grant>, StoreError>
    /**
     * Saves `change.grant` over its previous version, with the deliveries of the change: all or nothing. `Conflict` if another
     * version is stored, or if the grant is the first one of an erased user.
     */
    readonly save: (change: Change) => Effect.Effect<void, Conflict | StoreError>
  }
}

/** A grant of a user, and its application. */
export interface Authorized {
  readonly application: Application
  readonly grant: Grant
}

/** Makes a function that lists the applications that a user has authorised, oldest first. */
export const makeAuthorized = Effect.gen(function*() {
  const applications = yield* ApplicationStore
  const grants = yield* GrantStore
  return (userId: UserId): Effect.Effect<ReadonlyArray<Authorized>, StoreError> =>
    Effect.gen(function*() {
      const lines = yield* Effect.forEach(
        yield* grants.listByUser(userId),
        (grant) =>
          Effect.map(applications.find(grant.applicationId), Option.map((application) => ({ application, grant })))
      )
      return lines.flatMap(Option.toArray)
    })
})

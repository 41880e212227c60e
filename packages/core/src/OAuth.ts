/**
 * The authorization-code grant (requirements §4.1 to §4.5): every use case finds, decides in a pure function of
 * `Grant`, and saves once, comparing versions; on a conflict it decides again.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Access from "./Access.ts"
import * as Application from "./Application.ts"
import type { ApplicationId, InvalidClient } from "./Application.ts"
import type { ClientCredentials } from "./Applications.ts"
import * as Authorization from "./Authorization.ts"
import { EventId } from "./Event.ts"
import * as Grant from "./Grant.ts"
import { type Change, type Found, GrantStore } from "./GrantStore.ts"
import { Policy } from "./Policy.ts"
import { Secrets, type TokenHash } from "./Secrets.ts"
import { type Conflict, type StoreError, untilSaved } from "./Store.ts"
import type { AccessToken, RefreshToken, Scope } from "./Token.ts"
import type { User, UserId } from "./User.ts"

/** A required parameter is missing (RFC 6749 §5.2 `invalid_request`). */
export class MissingParameter
  extends Schema.TaggedError<MissingParameter>("@startlist/core/MissingParameter")("MissingParameter", {
    name: Schema.Literal("redirect_uri", "code_verifier")
  })
{}

/** This user has never granted this application anything. */
export class GrantNotFound extends Schema.TaggedError<GrantNotFound>("@startlist/core/GrantNotFound")(
  "GrantNotFound",
  {}
) {}

/** A pair of tokens in clear, at the only moment at which that exists (requirements §2.2), and the granted scope. */
export interface Tokens {
  readonly accessToken: Redacted.Redacted<string>
  readonly refreshToken: Redacted.Redacted<string>
  readonly createdAt: DateTime.Utc
  readonly expiresAt: DateTime.Utc
  readonly scope: Scope
}

export interface Exchange {
  readonly client: ClientCredentials
  readonly code: Redacted.Redacted<string>
  readonly redirectUri: Option.Option<string>
  readonly verifier: Option.Option<Redacted.Redacted<string>>
}

/** What is known of a live token (RFC 7662 §2.2). */
export interface Introspection {
  readonly kind: "access" | "refresh"
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly scope: Scope
  readonly issuedAt: Option.Option<DateTime.Utc>
  readonly expiresAt: DateTime.Utc
}

/** One line of a user's list of authorised applications. */
export interface Authorized {
  readonly application: Application.Application
  readonly grant: Grant.Grant
}

export class OAuth extends Context.Tag("@startlist/core/OAuth")<OAuth, OAuth.Service>() {}

export declare namespace OAuth {
  export interface Service {
    /** Checks an authorization request. Nothing is stored. */
    readonly authorize: (
      applicationId: ApplicationId,
      parameters: Authorization.Parameters
    ) => Effect.Effect<
      Authorization.AuthorizationRequest,
      Authorization.InvalidRedirect | Authorization.AuthorizationRefused | StoreError
    >
    /** The user says yes to all that is asked: an authorization code. */
    readonly consent: (
      request: Authorization.AuthorizationRequest,
      user: User
    ) => Effect.Effect<Redacted.Redacted<string>, Authorization.RoleMismatch | StoreError>
    /** Code for tokens (requirements §4.2), with the granted scope and the state of the authorization request. */
    readonly exchange: (exchange: Exchange) => Effect.Effect<
      Tokens & { readonly state: Option.Option<string> },
      InvalidClient | MissingParameter | Grant.InvalidGrant | StoreError
    >
    /**
     * Refresh token for a new pair with the scope of the grant (requirements §4.3). `scope`, which the interface does
     * not list, is what the client asks for (RFC 6749 §6): no more than was granted; less is not narrowed.
     */
    readonly refresh: (
      client: ClientCredentials,
      token: Redacted.Redacted<string>,
      scope?: Option.Option<Scope>
    ) => Effect.Effect<Tokens, InvalidClient | Grant.InvalidGrant | Grant.ScopeExceeded | StoreError>
    /**
     * The application revokes all its tokens for the user of this one (requirements §4.4). A token that is unknown,
     * long dead or another application's does nothing (RFC 7009 §2.2).
     */
    readonly revoke: (
      client: ClientCredentials,
      token: Redacted.Redacted<string>
    ) => Effect.Effect<void, InvalidClient | StoreError>
    /** The user revokes an application's access (requirements §3.2): its event is saved with it. */
    readonly revokeByUser: (
      applicationId: ApplicationId,
      userId: UserId
    ) => Effect.Effect<void, GrantNotFound | StoreError>
    /** Whom a bearer token lets in (requirements §4.5). */
    readonly authenticate: (
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Access.Access, Access.InvalidToken | StoreError>
    /** What a token stands for, if it is live and `audience` may know (RFC 7662). */
    readonly introspect: (
      token: Redacted.Redacted<string>,
      audience: Option.Option<ApplicationId>
    ) => Effect.Effect<Option.Option<Introspection>, StoreError>
    /** The applications that a user has authorised, oldest first. */
    readonly authorized: (userId: UserId) => Effect.Effect<ReadonlyArray<Authorized>, StoreError>
  }
}

const make = Effect.gen(function*() {
  const applications = yield* Application.ApplicationStore
  const grants = yield* GrantStore
  const secrets = yield* Secrets
  const policy = yield* Policy

  const hashOf = (secret: Redacted.Redacted<string>) => secrets.hash(Redacted.value(secret))

  const authenticateClient = ({ id, secret }: ClientCredentials, now: DateTime.Utc) => {
    const hash = hashOf(secret)
    return Effect.flatMap(applications.find(id), (found) => Application.authenticate(found, hash, now))
  }

  /** A fresh pair in clear, and as it will be stored. */
  const makePair = (now: DateTime.Utc) =>
    Effect.zipWith(secrets.make("access"), secrets.make("refresh"), (accessToken, refreshToken) => {
      const expiresAt = DateTime.addDuration(now, policy.accessTokenLifetime)
      return {
        clear: { accessToken, refreshToken, createdAt: now, expiresAt },
        stored: { access: hashOf(accessToken), refresh: hashOf(refreshToken), expiresAt }
      }
    })

  /** Saves what was decided, and answers the grant. A replay is refused, but not before the grant is revoked. */
  const settle = <E extends Grant.InvalidGrant | Grant.ScopeExceeded>(
    decision: Either.Either<Change, E>,
    grant: Grant.Grant
  ): Effect.Effect<Grant.Grant, E | Conflict | StoreError> =>
    Either.isRight(decision)
      ? Effect.as(grants.save(decision.right), decision.right.grant)
      : decision.left._tag === "InvalidGrant" && decision.left.reason === "replayed"
      ? Effect.zipRight(grants.save(Grant.revoke(grant)), Effect.fail(decision.left))
      : Effect.fail(decision.left)

  const authorize = Effect.fn("OAuth.authorize")(
    function*(applicationId: ApplicationId, parameters: Authorization.Parameters) {
      const application = yield* applications.find(applicationId)
      if (Option.isNone(application)) return yield* new Authorization.InvalidRedirect({ reason: "unknown_client" })
      return yield* Authorization.check(application.value, parameters, policy)
    }
  )

  const consent = Effect.fn("OAuth.consent")(function*(request: Authorization.AuthorizationRequest, user: User) {
    if (Option.isSome(request.role) && request.role.value !== user.role) {
      return yield* new Authorization.RoleMismatch({ requested: request.role.value, actual: user.role })
    }
    const now = yield* DateTime.now
    const code = yield* secrets.make("code")
    const consented = { ...request, applicationId: request.application.id, userId: user.id, role: user.role }
    yield* untilSaved(
      Effect.flatMap(
        grants.find(consented.applicationId, user.id),
        (existing) => grants.save(Grant.consent(existing, consented, hashOf(code), now, policy))
      )
    )
    return code
  })

  const exchange = Effect.fnUntraced(function*({ client, code, redirectUri, verifier }: Exchange) {
    const now = yield* DateTime.now
    const application = yield* authenticateClient(client, now)
    if (policy.profile === "rfc" && Option.isNone(redirectUri)) {
      return yield* new MissingParameter({ name: "redirect_uri" })
    }
    if (application.requirePkce && Option.isNone(verifier)) {
      return yield* new MissingParameter({ name: "code_verifier" })
    }
    const { clear, stored } = yield* makePair(now)
    const presented = { applicationId: client.id, redirectUri, challenge: Option.map(verifier, hashOf) }
    const { scope, state } = yield* untilSaved(Effect.gen(function*() {
      const found = yield* grants.findByCode(hashOf(code))
      if (Option.isNone(found)) return yield* new Grant.InvalidGrant({ reason: "unknown" })
      yield* settle(Grant.redeem(found.value, presented, stored, now, policy), found.value.grant)
      return found.value.credential
    }))
    return { ...clear, scope, state }
  })

  // Refreshing and authenticating are what every application does all day, so these are chains of `flatMap`: a
  // generator takes nearly twice the steps.
  const refresh: OAuth.Service["refresh"] = (client, token, scope = Option.none()) =>
    Effect.flatMap(DateTime.now, (now) =>
      Effect.zipRight(
        authenticateClient(client, now),
        Effect.flatMap(makePair(now), ({ clear, stored }) =>
          Effect.map(
            renew(hashOf(token), { applicationId: client.id, scope }, stored, now),
            (grant) => ({ ...clear, scope: grant.scope })
          ))
      ))

  const renew = (token: TokenHash, presented: Grant.Renewal, fresh: Grant.FreshTokens, now: DateTime.Utc) =>
    untilSaved(
      Effect.flatMap(grants.findByRefresh(token), (found) =>
        Option.isNone(found)
          ? new Grant.InvalidGrant({ reason: "unknown" })
          : settle(Grant.rotate(found.value, presented, fresh, now, policy), found.value.grant))
    )

  const revoke = Effect.fn("OAuth.revoke")(function*(client: ClientCredentials, token: Redacted.Redacted<string>) {
    yield* authenticateClient(client, yield* DateTime.now)
    const hash = hashOf(token)
    yield* untilSaved(Effect.gen(function*() {
      const access: Option.Option<Found<AccessToken | RefreshToken>> = yield* grants.findByAccess(hash)
      const found = Option.isSome(access) ? access : yield* grants.findByRefresh(hash)
      if (Option.isNone(found)) return
      const { credential, grant } = found.value
      if (Grant.isRevocable(grant, credential.epoch, client.id)) yield* grants.save(Grant.revoke(grant))
    }))
  })

  const revokeByUser = Effect.fn("OAuth.revokeByUser")(function*(applicationId: ApplicationId, userId: UserId) {
    const now = yield* DateTime.now
    const event = EventId.make(Redacted.value(yield* secrets.make("event")))
    yield* untilSaved(Effect.gen(function*() {
      const grant = yield* grants.find(applicationId, userId)
      if (Option.isNone(grant)) return yield* new GrantNotFound()
      if (grant.value.status === "active") yield* grants.save(Grant.revokeByUser(grant.value, event, now))
    }))
  })

  const authenticate: OAuth.Service["authenticate"] = (token) =>
    Effect.flatMap(grants.findByAccess(hashOf(token)), (found) =>
      Option.isNone(found)
        ? new Access.InvalidToken()
        : Effect.flatMap(DateTime.now, (now) => Access.authenticate(found.value, now)))

  const introspectRefresh = (found: Found<RefreshToken>, now: DateTime.Utc): Option.Option<Introspection> =>
    Grant.isCurrent(found, now)
      ? Option.some({
        ...found.grant,
        kind: "refresh",
        issuedAt: found.grant.issuedAt,
        expiresAt: found.credential.expiresAt
      })
      : Option.none()

  const introspect = Effect.fn("OAuth.introspect")(
    function*(token: Redacted.Redacted<string>, audience: Option.Option<ApplicationId>) {
      const now = yield* DateTime.now
      const hash = hashOf(token)
      const access = yield* grants.findByAccess(hash)
      const known: Option.Option<Introspection> = Option.isSome(access)
        ? Option.map(Either.getRight(Access.authenticate(access.value, now)), (granted) => ({
          ...granted,
          kind: "access",
          issuedAt: Option.some(granted.createdAt)
        }))
        : Option.flatMap(yield* grants.findByRefresh(hash), (found) => introspectRefresh(found, now))
      return Option.filter(known, ({ applicationId }) => Option.isNone(audience) || audience.value === applicationId)
    }
  )

  const authorized = Effect.fn("OAuth.authorized")(function*(userId: UserId) {
    const active = yield* grants.listByUser(userId)
    const lines = yield* Effect.forEach(
      active,
      (grant) =>
        Effect.map(applications.find(grant.applicationId), Option.map((application) => ({ application, grant })))
    )
    return lines.flatMap(Option.toArray)
  })

  return OAuth.of({ authenticate, authorize, authorized, consent, exchange, introspect, refresh, revoke, revokeByUser })
})

export const layer: Layer.Layer<OAuth, never, Application.ApplicationStore | GrantStore | Secrets> = Layer.effect(
  OAuth,
  make
)

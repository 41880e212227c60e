/**
 * The authorization-code grant (requirements §4.1 to §4.5): every use case finds, decides in a pure function of
 * `Grant`, and saves once, comparing versions; on a conflict it decides again.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { identity } from "effect/Function"
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
import { GrantStore } from "./GrantStore.ts"
import { makeInstants } from "./internal/instants.ts"
import * as Introspection from "./Introspection.ts"
import { Policy } from "./Policy.ts"
import { Secrets, type TokenHash } from "./Secrets.ts"
import { type Conflict, type StoreError, untilSaved } from "./Store.ts"
import * as Token from "./Token.ts"
import type { AccessToken, RefreshToken, Scope, Tokens } from "./Token.ts"
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

/**
 * Runs when a replay has revoked a grant (RFC 9700 §4.14.2), also if the caller has gone away meanwhile: whoever replays
 * must not be able to keep it out of a record.
 */
export type OnReplay = Effect.Effect<void>

export interface Exchange {
  readonly client: ClientCredentials
  readonly code: Redacted.Redacted<string>
  readonly redirectUri: Option.Option<string>
  readonly verifier: Option.Option<Redacted.Redacted<string>>
  /** Default: nothing. */
  readonly onReplay?: OnReplay
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
     * not list, is what the client asks for (RFC 6749 §6): no more than was granted; less is not narrowed. By default
     * `onReplay` does nothing.
     */
    readonly refresh: (
      client: ClientCredentials,
      token: Redacted.Redacted<string>,
      scope?: Option.Option<Scope>,
      onReplay?: OnReplay
    ) => Effect.Effect<Tokens, InvalidClient | Grant.InvalidGrant | Grant.ScopeExceeded | StoreError>
    /**
     * The application revokes all its tokens for the user of this one (requirements §4.4), and is told whose access that
     * ended. A token that is unknown, long dead or another application's ends nothing (RFC 7009 §2.2).
     */
    readonly revoke: (
      client: ClientCredentials,
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Option.Option<UserId>, InvalidClient | StoreError>
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
    ) => Effect.Effect<Option.Option<Introspection.Introspection>, StoreError>
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

  const accessLifetime = Duration.toMillis(policy.accessTokenLifetime)
  const refreshIdle = Duration.toMillis(policy.refreshTokenIdle)
  const [toNow, toAccessExpiry, toRefreshExpiry] = [makeInstants(), makeInstants(), makeInstants()]

  // Refreshing and authenticating are what every application does all day, so their ways are chains of `flatMap`, and the
  // clock is read in one step: a generator takes nearly twice the steps, `DateTime.now` takes five.
  const withNow = <A, E>(use: (now: DateTime.Utc) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.clockWith((clock) => use(toNow(clock.unsafeCurrentTimeMillis())))

  /** Goes on with the application that a client proves to be. */
  const withClient = <A, E>(
    { id, secret }: ClientCredentials,
    now: DateTime.Utc,
    use: (application: Application.Application) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | InvalidClient | StoreError> => {
    const hash = hashOf(secret)
    return Effect.flatMap(applications.find(id), (found): Effect.Effect<A, E | InvalidClient> => {
      const application = Application.authenticate(found, hash, now)
      return Either.isRight(application) ? use(application.right) : Effect.fail(application.left)
    })
  }

  /** A pair of tokens for the next generation of a grant, and its fingerprints. */
  const makeTokens = <A, E>(
    grant: Grant.Grant,
    now: DateTime.Utc,
    use: (tokens: Omit<Tokens, "scope">, fresh: Grant.FreshTokens) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.flatMap(secrets.make("access", Token.nameOf(grant)), (accessToken) =>
      Effect.flatMap(
        secrets.make("refresh", Token.chainNameOf(grant, grant.epoch, grant.generation + 1)),
        (refreshToken) => {
          const expiresAt = toAccessExpiry(now.epochMillis + accessLifetime)
          return use({ accessToken, refreshToken, createdAt: now, expiresAt }, {
            access: hashOf(accessToken),
            accessExpiresAt: expiresAt,
            refresh: hashOf(refreshToken),
            refreshExpiresAt: toRefreshExpiry(now.epochMillis + refreshIdle)
          })
        }
      ))

  /** Finds the grant of a code or refresh token, decides on a fresh pair of tokens, and commits what was decided. */
  const issue = <Credential, E, A>(
    now: DateTime.Utc,
    find: Effect.Effect<Option.Option<Grant.Found<Credential>>, StoreError>,
    decide: (found: Grant.Found<Credential>, fresh: Grant.FreshTokens) => Grant.Decision<E>,
    answer: (tokens: Tokens, credential: Credential) => A,
    onReplay: OnReplay
  ): Effect.Effect<A, E | Grant.InvalidGrant | StoreError> => {
    const attempt: Effect.Effect<A, E | Grant.InvalidGrant | Conflict | StoreError> = Effect.flatMap(
      find,
      (found): typeof attempt =>
        Option.isNone(found)
          ? new Grant.InvalidGrant({ reason: "unknown" })
          : makeTokens(found.value.grant, now, (tokens, fresh): typeof attempt => {
            const decision = decide(found.value, fresh)
            switch (decision._tag) {
              case "Issued": {
                const { grant: { scope } } = decision.change
                return Effect.map(
                  grants.save(decision.change),
                  () => answer({ ...tokens, scope }, found.value.credential)
                )
              }
              case "Refused":
                return Effect.fail(decision.error)
              case "RevokedAndRefused":
                // Not given up when the client goes away, however often it is decided again.
                return grants.save(decision.change).pipe(
                  Effect.zipRight(onReplay),
                  Effect.zipRight(Effect.fail(decision.error)),
                  Effect.catchTag("Conflict", () => untilSaved(attempt)),
                  Effect.uninterruptible,
                  Effect.disconnect
                )
            }
          })
    )
    return untilSaved(attempt)
  }

  /** Finds what a store has of this kind. It is not asked for a text of another form. */
  const finder = <Credential>(
    kind: "access" | "code" | "refresh",
    find: (hash: TokenHash) => Effect.Effect<Option.Option<Grant.Found<Credential>>, StoreError>
  ) =>
  (text: Redacted.Redacted<string>): Effect.Effect<Option.Option<Grant.Found<Credential>>, StoreError> =>
    Option.isSome(Token.parse(kind, text)) ? find(hashOf(text)) : Effect.succeedNone

  const findAccess = finder("access", grants.findByAccess)
  const findCode = finder("code", grants.findByCode)
  const findRefresh = finder("refresh", grants.findByRefresh)
  const isAccess = (text: Redacted.Redacted<string>) => Option.isSome(Token.parse("access", text))

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
    const consented = { ...request, applicationId: request.application.id, userId: user.id, role: user.role }
    const code = yield* secrets.make("code", Token.nameOf(consented))
    yield* untilSaved(
      Effect.flatMap(
        grants.find(consented.applicationId, user.id),
        (existing) => grants.save(Grant.consent(existing, consented, hashOf(code), now, policy))
      )
    )
    return code
  })

  const exchange: OAuth.Service["exchange"] = ({ client, code, onReplay = Effect.void, redirectUri, verifier }) =>
    withNow((now) =>
      withClient(
        client,
        now,
        Effect.fnUntraced(function*(application) {
          if (policy.requireRedirectUri && Option.isNone(redirectUri)) {
            return yield* new MissingParameter({ name: "redirect_uri" })
          }
          if (application.requirePkce && Option.isNone(verifier)) {
            return yield* new MissingParameter({ name: "code_verifier" })
          }
          const presented = { applicationId: client.id, redirectUri, challenge: Option.map(verifier, hashOf) }
          return yield* issue(
            now,
            findCode(code),
            (found, fresh) => Grant.redeem(found, presented, fresh, now, policy),
            (tokens, { state }) => ({ ...tokens, state }),
            onReplay
          )
        })
      )
    )

  const refresh: OAuth.Service["refresh"] = (client, token, scope = Option.none(), onReplay = Effect.void) =>
    withNow((now) =>
      withClient(client, now, () =>
        issue(
          now,
          findRefresh(token),
          (found, fresh) => Grant.rotate(found, { applicationId: client.id, scope }, fresh, now, policy),
          identity,
          onReplay
        ))
    )

  const revoke = Effect.fn("OAuth.revoke")((client: ClientCredentials, token: Redacted.Redacted<string>) =>
    withNow((now) =>
      withClient(client, now, () =>
        untilSaved(Effect.gen(function*() {
          const found: Option.Option<Grant.Found<AccessToken | RefreshToken>> = yield* isAccess(token)
            ? findAccess(token)
            : findRefresh(token)
          if (Option.isNone(found)) return Option.none()
          const { credential, grant } = found.value
          if (!Grant.isRevocable(grant, credential.epoch, client.id)) return Option.none()
          yield* grants.save(Grant.revoke(grant))
          return Option.some(grant.userId)
        })))
    )
  )

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
    Effect.flatMap(findAccess(token), (found) =>
      Option.isNone(found)
        ? new Access.InvalidToken()
        : withNow((now) => Access.authenticate(found.value, now)))

  const introspect = Effect.fn("OAuth.introspect")(
    function*(token: Redacted.Redacted<string>, audience: Option.Option<ApplicationId>) {
      const now = yield* DateTime.now
      const known = isAccess(token)
        ? Option.flatMap(yield* findAccess(token), (found) => Introspection.ofAccess(found, now))
        : Option.flatMap(yield* findRefresh(token), (found) => Introspection.ofRefresh(found, now))
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

/**
 * The authorization-code grant (requirements §4.1 to §4.5). Every use case finds a grant, decides in a pure function of
 * `Grant`, and saves once. On a conflict it decides again.
 */
import * as Arr from "effect/Array"
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
import * as Grant from "./Grant.ts"
import { GrantStore } from "./GrantStore.ts"
import { makeOrigins } from "./internal/eventOrigins.ts"
import { makeInstants } from "./internal/instants.ts"
import { PersonStore } from "./PersonStore.ts"
import { Policy } from "./Policy.ts"
import { type Fingerprint, Secrets, shortened } from "./Secrets.ts"
import { type Conflict, type StoreError, untilSaved } from "./Store.ts"
import * as Token from "./Token.ts"
import type { Scope, TokenAnswer } from "./Token.ts"
import { type User, UserErased, type UserId } from "./User.ts"

/** A required parameter is missing (RFC 6749 §5.2 `invalid_request`). */
export class MissingParameter
  extends Schema.TaggedError<MissingParameter>("@startlist/core/MissingParameter")("MissingParameter", {
    name: Schema.Literal("redirect_uri", "code_verifier")
  })
{}

/** The user has no grant to this application. */
export class GrantNotFound extends Schema.TaggedError<GrantNotFound>("@startlist/core/GrantNotFound")(
  "GrantNotFound",
  {}
) {}

/** A used code or an older refresh token of this user was refused: `used`, `replaced`, `superseded`, `ended`, `replayed`. */
export interface Replay {
  readonly userId: UserId
  readonly reason: Grant.InvalidGrant["reason"]
}

/** Runs at a replay, also if the caller has disconnected: a thief must not be able to prevent its record. */
export type OnReplay = (replay: Replay) => Effect.Effect<void>

/** Common input of exchanges and refreshes. */
interface Asked {
  readonly client: ClientCredentials
  /** The client's `Idempotency-Key`: 1 to 255 printable characters. A repeat with it gets the same answer. */
  readonly idempotencyKey?: Option.Option<string>
  /** Default: no effect. */
  readonly onReplay?: OnReplay
}

export interface Exchange extends Asked {
  readonly code: Redacted.Redacted<string>
  readonly redirectUri: Option.Option<string>
  readonly verifier: Option.Option<Redacted.Redacted<string>>
}

export interface Refresh extends Asked {
  readonly token: Redacted.Redacted<string>
  /** The requested scope (RFC 6749 §6), within that of the grant. A smaller one does not narrow the tokens. */
  readonly scope?: Option.Option<Scope>
}

/** An entry of a user's list of authorised applications. */
export interface Authorized {
  readonly application: Application.Application
  readonly grant: Grant.Grant
}

/** The use of an application. */
export interface Connected {
  /** Number of users that have authorised it. `connectedLimit` means that number or more. */
  readonly users: number
  /** When the last of these users' tokens was issued. */
  readonly lastUse: Option.Option<DateTime.Utc>
}

/** Maximum number of users of an application that are counted. */
export const connectedLimit = 1000

export class OAuth extends Context.Tag("@startlist/core/OAuth")<OAuth, OAuth.Service>() {}

export declare namespace OAuth {
  export interface Service {
    /** Checks an authorization request. Nothing is stored. */
    readonly authorize: (applicationId: ApplicationId, parameters: Authorization.Parameters) => Effect.Effect<
      Authorization.AuthorizationRequest,
      Authorization.InvalidRedirect | Authorization.AuthorizationRefused | StoreError
    >
    /** The user allows the request. Returns an authorization code. */
    readonly consent: (
      request: Authorization.AuthorizationRequest,
      user: User
    ) => Effect.Effect<Redacted.Redacted<string>, Authorization.RoleMismatch | UserErased | StoreError>
    /** Exchanges a code for tokens (requirements §4.2), with the granted scope and the request's state. */
    readonly exchange: (
      exchange: Exchange
    ) => Effect.Effect<TokenAnswer, InvalidClient | MissingParameter | Grant.InvalidGrant | StoreError>
    /** Exchanges a refresh token for a new pair with the scope of the grant (requirements §4.3). */
    readonly refresh: (
      refresh: Refresh
    ) => Effect.Effect<TokenAnswer, InvalidClient | Grant.InvalidGrant | Grant.ScopeExceeded | StoreError>
    /**
     * The application revokes all its tokens for the user of this token (requirements §4.4). Returns the user whose
     * access ended. A token that is unknown, expired, of an earlier grant or another application's has no effect (RFC
     * 7009 §2.2).
     */
    readonly revoke: (
      client: ClientCredentials,
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Option.Option<UserId>, InvalidClient | StoreError>
    /** The user revokes an application's access (requirements §3.2). The event is saved with it. */
    readonly revokeByUser: (
      applicationId: ApplicationId,
      userId: UserId
    ) => Effect.Effect<void, GrantNotFound | StoreError>
    /** Returns the access of a bearer token (requirements §4.5). */
    readonly authenticate: (
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Access.BearerAccess, Access.InvalidToken | StoreError>
    /** Describes a token if it is live and `audience` may know it (RFC 7662). */
    readonly introspect: (
      token: Redacted.Redacted<string>,
      audience: Option.Option<ApplicationId>
    ) => Effect.Effect<Option.Option<Access.Introspection>, StoreError>
    /** The applications that a user has authorised, oldest first. */
    readonly authorized: (userId: UserId) => Effect.Effect<ReadonlyArray<Authorized>, StoreError>
    /** Counts the users that have authorised an application, at most `connectedLimit`. */
    readonly connected: (id: ApplicationId) => Effect.Effect<Connected, StoreError>
  }
}

const make = Effect.gen(function*() {
  const applications = yield* Application.ApplicationStore
  const grants = yield* GrantStore
  const persons = yield* PersonStore
  const secrets = yield* Secrets
  const policy = yield* Policy
  const origins = yield* makeOrigins

  const hashOf = (secret: Redacted.Redacted<string>) => secrets.hash(Redacted.value(secret))

  const toNow = makeInstants()

  // Refreshes and bearer checks are the most frequent requests: chains of `flatMap` that read the clock in one step. A
  // generator takes nearly twice the steps, and `DateTime.now` takes five.
  const withNow = <A, E>(use: (now: DateTime.Utc) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.clockWith((clock) => use(toNow(clock.unsafeCurrentTimeMillis())))

  /** Authenticates a client and continues with its application. */
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

  /** Finds the grant that a code or refresh token names, decides, and saves the decision. */
  const issue = <E>(
    { applicationId, userId }: Token.Name,
    decide: (grant: Grant.Grant) => Grant.Decision<E>,
    onReplay: OnReplay
  ): Effect.Effect<TokenAnswer, E | Grant.InvalidGrant | StoreError> => {
    const attempt: Effect.Effect<TokenAnswer, E | Grant.InvalidGrant | Conflict | StoreError> = Effect.flatMap(
      grants.find(applicationId, userId),
      (found): typeof attempt => {
        if (Option.isNone(found)) return unknownGrant
        const decision = decide(Grant.asOf(found.value))
        switch (decision._tag) {
          case "Issued":
            return Effect.as(grants.save(decision.change), decision.tokens)
          case "Repeated":
            return Effect.succeed(decision.tokens)
          case "Refused":
            return Effect.fail(decision.error)
          case "Replayed":
            // Uninterruptible, also over several conflicts: a client that disconnects must not prevent it.
            return Effect.forEach(Option.toArray(decision.revocation), (change) => grants.save(change)).pipe(
              Effect.zipRight(onReplay({ userId, reason: decision.error.reason })),
              Effect.zipRight(Effect.fail(decision.error)),
              Effect.catchTag("Conflict", () => untilSaved(attempt)),
              Effect.uninterruptible,
              Effect.disconnect
            )
        }
      }
    )
    return untilSaved(attempt)
  }

  const unknownGrant = new Grant.InvalidGrant({ reason: "unknown" })

  const ignoreReplay: OnReplay = () => Effect.void

  /**
   * Inspects a token, by its fingerprint and its name if it is a refresh token, in the grant that it names. A text of
   * another form does not reach the store.
   */
  const inspect = <A>(
    token: Redacted.Redacted<string>,
    look: (found: Grant.Found, hash: Fingerprint, refreshName: Option.Option<Token.RefreshName>) => Option.Option<A>
  ): Effect.Effect<Option.Option<A>, StoreError> => {
    const refreshName = Token.parseRefresh(token)
    const name = Option.orElse(Token.parse("access", token), () => refreshName)
    return Option.isNone(name) ? Effect.succeedNone : Effect.map(
      grants.find(name.value.applicationId, name.value.userId),
      Option.flatMap(({ application, grant }) =>
        look({ application, grant: Grant.asOf({ application, grant }) }, shortened(hashOf(token)), refreshName)
      )
    )
  }

  const authorize = Effect.fn("OAuth.authorize")(
    function*(applicationId: ApplicationId, parameters: Authorization.Parameters) {
      const application = yield* applications.find(applicationId)
      if (Option.isNone(application) || application.value.state === "ended") {
        return yield* new Authorization.InvalidRedirect({ reason: "unknown_client" })
      }
      return yield* Authorization.check(application.value, parameters, policy)
    }
  )

  const consent = Effect.fn("OAuth.consent")(function*(request: Authorization.AuthorizationRequest, user: User) {
    if (Option.isSome(request.role) && request.role.value !== user.role) {
      return yield* new Authorization.RoleMismatch({ requested: request.role.value, actual: user.role })
    }
    const now = yield* DateTime.now
    const applicationId = request.application.id
    const code = yield* secrets.make("code", Token.nameOf({ applicationId, userId: user.id }))
    const consented = { ...request, user }
    yield* untilSaved(Effect.gen(function*() {
      const found = yield* grants.find(applicationId, user.id)
      if (Option.isNone(found) && (yield* persons.isErased(user.id))) return yield* new UserErased({ userId: user.id })
      yield* grants.save(Grant.consent(Option.map(found, Grant.asOf), consented, hashOf(code), now, policy))
    }))
    return code
  })

  const exchange: OAuth.Service["exchange"] = (
    { client, code, idempotencyKey = Option.none(), onReplay = ignoreReplay, redirectUri, verifier }
  ) =>
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
          const name = Token.parse("code", code)
          if (Option.isNone(name)) return yield* unknownGrant
          const challenge = Option.map(verifier, hashOf)
          return yield* Effect.flatMap(secrets.makeSalt, (salt) => {
            const presented = {
              applicationId: client.id,
              presented: code,
              salt,
              idempotencyKey,
              redirectUri,
              challenge
            }
            return issue(name.value, (grant) => Grant.redeem(grant, presented, secrets, now, policy), onReplay)
          })
        })
      )
    )

  const refresh: OAuth.Service["refresh"] = (
    { client, idempotencyKey = Option.none(), onReplay = ignoreReplay, scope = Option.none(), token }
  ) =>
    withNow((now) =>
      withClient(client, now, () => {
        const name = Token.parseRefresh(token)
        return Option.isNone(name) ? Effect.fail(unknownGrant) : Effect.flatMap(secrets.makeSalt, (salt) => {
          const presented = {
            applicationId: client.id,
            presented: token,
            salt,
            idempotencyKey,
            scope,
            name: name.value
          }
          return issue(name.value, (grant) => Grant.rotate(grant, presented, secrets, now, policy), onReplay)
        })
      })
    )

  const revoke = Effect.fn("OAuth.revoke")((client: ClientCredentials, token: Redacted.Redacted<string>) =>
    withNow((now) =>
      withClient(client, now, () =>
        untilSaved(Effect.gen(function*() {
          const found = yield* inspect(token, ({ grant }, hash, refreshName) => {
            const isKnown = Option.match(refreshName, {
              onNone: () => Option.isSome(Access.find(grant, hash, now)),
              onSome: (name) => !["unknown", "revoked"].includes(Grant.refreshTokenStateOf(grant, token, name, secrets))
            })
            return isKnown && grant.applicationId === client.id ? Option.some(grant) : Option.none()
          })
          if (Option.isSome(found)) yield* grants.save(Grant.revoke(found.value))
          return Option.map(found, ({ userId }) => userId)
        })))
    )
  )

  const revokeByUser = Effect.fn("OAuth.revokeByUser")(function*(applicationId: ApplicationId, userId: UserId) {
    const origin = yield* origins
    yield* untilSaved(Effect.gen(function*() {
      const found = yield* grants.find(applicationId, userId)
      if (Option.isNone(found)) return yield* new GrantNotFound()
      const grant = Grant.asOf(found.value)
      if (grant.status === "active") yield* grants.save(Grant.revokeByUser(grant, origin))
    }))
  })

  const authenticate: OAuth.Service["authenticate"] = (token) => {
    const name = Token.parse("access", token)
    if (Option.isNone(name)) return new Access.InvalidToken()
    const hash = shortened(hashOf(token))
    return withNow((now) =>
      Effect.flatMap(grants.find(name.value.applicationId, name.value.userId), (found) => {
        const access = Option.isSome(found) && found.value.application.state === "active"
          ? Access.find(Grant.asOf(found.value), hash, now)
          : Option.none()
        return Option.isSome(access) ? Effect.succeed(access.value) : new Access.InvalidToken()
      })
    )
  }

  const introspect = Effect.fn("OAuth.introspect")(
    (token: Redacted.Redacted<string>, audience: Option.Option<ApplicationId>) =>
      withNow((now) =>
        inspect(
          token,
          ({ application, grant }, hash, refreshName) =>
            application.state !== "active" || Option.exists(audience, (id) => id !== grant.applicationId)
              ? Option.none()
              : Access.describe(grant, hash, Option.isSome(refreshName) ? "refresh" : "access", now)
        )
      )
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

  const connected = Effect.fn("OAuth.connected")(function*(id: ApplicationId) {
    const active = yield* grants.listByApplication(id, connectedLimit)
    const uses = active.flatMap(({ refresh }) => Option.toArray(Option.map(refresh, ({ issuedAt }) => issuedAt)))
    return { users: active.length, lastUse: Arr.last(Arr.sort(uses, DateTime.Order)) }
  })

  const requests = { authorize, consent, exchange, refresh, revoke }
  return OAuth.of({ ...requests, authenticate, authorized, connected, introspect, revokeByUser })
})

export const layer: Layer.Layer<OAuth, never, Application.ApplicationStore | GrantStore | PersonStore | Secrets> = Layer
  .effect(OAuth, make)

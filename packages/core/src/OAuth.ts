/**
 * The authorization-code grant (requirements §4.1 to §4.5). Every use case finds a grant, decides in a pure function of
 * `Grant`, and saves once. On a conflict it decides again.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Application from "./Application.ts"
import type { ApplicationId, InvalidClient } from "./Application.ts"
import { type ClientCredentials, makeWithClient } from "./Client.ts"
import { Audit, Entry } from "./Audit.ts"
import * as Authorization from "./Authorization.ts"
import { makeOrigins } from "./Event.ts"
import * as Grant from "./Grant.ts"
import { GrantStore } from "./Grant.ts"
import { makeFindImported } from "./ImportStore.ts"
import { makeWithNow } from "./internal/runtime.ts"
import { PersonStore } from "./PersonalData.ts"
import { Policy } from "./Policy.ts"
import { type Fingerprint, Secrets, shortened } from "./Secrets.ts"
import { type StoreError, untilSaved } from "./Store.ts"
import * as Token from "./Token.ts"
import { refreshTokenStateOf } from "./TokenRequest.ts"
import { make as makeTokenRequests, type TokenRequests } from "./TokenRequests.ts"
import { type User, UserErased, type UserId } from "./User.ts"

/** The user has no grant to this application. */
export class GrantNotFound extends Schema.TaggedError<GrantNotFound>()("@startlist/core/GrantNotFound", {}) {}

/** The use of an application. */
export interface Connected {
  /** Number of users that have authorised it. `connectedLimit` means that number or more. */
  readonly users: number
  /** When the last of these users' tokens was issued. */
  readonly lastUse: Option.Option<DateTime.Utc>
}

/** Maximum number of users of an application that are counted. */
export const connectedLimit = 1000

/**
 * The use cases of the authorization-code grant.
 * @example
 * ```ts
 * import { OAuth, type TokenRequests } from "@startlist/core"
 * import { Effect } from "effect"
 * export const refresh = (presented: TokenRequests.Refresh) =>
 *   Effect.flatMap(OAuth.OAuth, (oauth) => oauth.refresh(presented))
 * ```
 */
export class OAuth extends Context.Tag("@startlist/core/OAuth")<OAuth, OAuth.Service>() {}

export declare namespace OAuth {
  export interface Service extends TokenRequests {
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
    /**
     * The application revokes its access to this token's user, whom it returns (requirements §4.4). An unknown token, an
     * expired access token, or one of an earlier grant or another application, has no effect (RFC 7009 §2.2).
     */
    readonly revoke: <E = never>(
      client: ClientCredentials<E>,
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Option.Option<UserId>, InvalidClient | StoreError | E>
    /** The user revokes an application's access (requirements §3.2). The event is saved with it. */
    readonly revokeByUser: (
      applicationId: ApplicationId,
      userId: UserId
    ) => Effect.Effect<void, GrantNotFound | StoreError>
    /** Returns the access of a bearer token (requirements §4.5). */
    readonly authenticate: (
      token: Redacted.Redacted<string>
    ) => Effect.Effect<Grant.BearerAccess, Grant.InvalidToken | StoreError>
    /** Describes a token if it is live and `audience` may know it (RFC 7662). */
    readonly introspect: (
      token: Redacted.Redacted<string>,
      audience: Option.Option<ApplicationId>
    ) => Effect.Effect<Option.Option<Grant.Introspection>, StoreError>
    /** The applications that a user has authorised, oldest first. */
    readonly authorized: (userId: UserId) => Effect.Effect<ReadonlyArray<Grant.Authorized>, StoreError>
    /** Counts the users that have authorised an application, at most `connectedLimit`. */
    readonly connected: (id: ApplicationId) => Effect.Effect<Connected, StoreError>
  }
}

const make = Effect.gen(function*() {
  const applications = yield* Application.ApplicationStore
  const audit = yield* Audit
  const tokenRequests = yield* makeTokenRequests
  const withClient = yield* makeWithClient
  const findImported = yield* makeFindImported
  const grants = yield* GrantStore
  const persons = yield* PersonStore
  const secrets = yield* Secrets
  const policy = yield* Policy
  const origins = yield* makeOrigins

  const hashOf = (secret: Redacted.Redacted<string>) => secrets.hash(Redacted.value(secret))

  // Refreshes and bearer checks are the most frequent requests: chains of `flatMap`, because a generator takes nearly twice
  // the steps.
  const withNow = makeWithNow()

  /** Inspects a token in the grant that it names. A text of another form does not reach the store, unless it was imported. */
  const inspect = <A>(
    token: Redacted.Redacted<string>,
    look: (found: Grant.Found, hash: Fingerprint, refreshName: Option.Option<Token.RefreshName>) => Option.Option<A>
  ): Effect.Effect<Option.Option<A>, StoreError> => {
    const inspected = (name: Option.Option<Token.Name>, refreshName: Option.Option<Token.RefreshName>) =>
      Option.isNone(name) ? Effect.succeedNone : Effect.map(
        grants.find(name.value.applicationId, name.value.userId),
        Option.flatMap(({ application, grant }) =>
          look({ application, grant: Grant.asOf({ application, grant }) }, shortened(hashOf(token)), refreshName)
        )
      )
    const refreshName = Token.parseRefresh(token)
    const name = Option.orElse(Token.parse("access", token), () => refreshName)
    return Option.isSome(name)
      ? inspected(name, refreshName)
      : Effect.flatMap(
        findImported(token),
        (found) => inspected(found, Option.filter(found, ({ kind }) => kind === "refresh"))
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

  const revoke: OAuth.Service["revoke"] = Effect.fn("OAuth.revoke")(<E>(
    client: ClientCredentials<E>,
    token: Redacted.Redacted<string>
  ) =>
    withNow((now) =>
      withClient(client, now, () =>
        untilSaved(Effect.gen(function*() {
          const found = yield* inspect(token, ({ grant }, hash, refreshName) => {
            const isKnown = Option.match(refreshName, {
              onNone: () => Option.isSome(Grant.accessOf(grant, hash, now)),
              onSome: (name) => !["unknown", "revoked"].includes(refreshTokenStateOf(grant, token, name, secrets))
            })
            return isKnown && grant.applicationId === client.id ? Option.some(grant) : Option.none()
          })
          if (Option.isSome(found)) {
            yield* grants.save(Grant.revoke(found.value))
            yield* audit.record(Entry.GrantsRevoked({ by: "application", count: 1 }))
          }
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
      if (grant.status !== "active") return
      yield* grants.save(Grant.revokeByUser(grant, origin))
      yield* audit.record(Entry.GrantsRevoked({ by: "user", count: 1 }))
    }))
  })

  const invalidToken = Effect.zipRight(audit.record(Entry.AccessRefused()), new Grant.InvalidToken())

  const authenticate: OAuth.Service["authenticate"] = (token) => {
    const named = ({ applicationId, userId }: Token.Name) => {
      const hash = shortened(hashOf(token))
      return withNow((now) =>
        Effect.flatMap(grants.find(applicationId, userId), (found) => {
          if (Option.isNone(found) || found.value.application.state !== "active") return invalidToken
          const access = Grant.accessOf(Grant.asOf(found.value), hash, now)
          if (Option.isNone(access)) return invalidToken
          const { requestsPerMinute } = found.value.application
          return Effect.succeed(requestsPerMinute === undefined ? access.value : { ...access.value, requestsPerMinute })
        })
      )
    }
    const name = Token.parse("access", token)
    return Option.isSome(name)
      ? named(name.value)
      : Effect.flatMap(findImported(token), (found) => Option.isSome(found) ? named(found.value) : invalidToken)
  }

  const introspect = Effect.fn("OAuth.introspect")(
    (token: Redacted.Redacted<string>, audience: Option.Option<ApplicationId>) =>
      withNow((now) =>
        inspect(
          token,
          ({ application, grant }, hash, refreshName) =>
            application.state !== "active" || Option.exists(audience, (id) => id !== grant.applicationId)
              ? Option.none()
              : Grant.describeToken(grant, hash, Option.isSome(refreshName) ? "refresh" : "access", now)
        )
      )
  )

  const authorized = Effect.fn("OAuth.authorized")(yield* Grant.makeAuthorized)

  const connected = Effect.fn("OAuth.connected")(function*(id: ApplicationId) {
    const active = yield* grants.listByApplication(id, connectedLimit)
    const uses = active.flatMap(({ refresh }) => Option.toArray(Option.map(refresh, ({ issuedAt }) => issuedAt)))
    return { users: active.length, lastUse: Arr.last(Arr.sort(uses, DateTime.Order)) }
  })

  return OAuth.of({
    ...tokenRequests,
    authenticate,
    authorize,
    authorized,
    connected,
    consent,
    introspect,
    revoke,
    revokeByUser
  })
})

/** The service over its ports. */
export const layer = Layer.effect(OAuth, make)

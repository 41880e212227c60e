/**
 * Requests for tokens (requirements §4.2 and §4.3): each finds its grant, decides (`TokenRequest`), and saves once. A refresh
 * does not find its application, too: it compares a copy with the application of the grant.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as DateTime from "effect/DateTime"
import * as Application from "./Application.ts"
import type { InvalidClient } from "./Application.ts"
import { type ClientCredentials, makeWithClient } from "./Client.ts"
import { Audit, Entry, type GrantType, Party, uninterrupted } from "./Audit.ts"
import { asOf, type Found, GrantStore } from "./Grant.ts"
import { makeFindImported } from "./ImportStore.ts"
import { makeWithNow } from "./internal/runtime.ts"
import { Policy } from "./Policy.ts"
import { Secrets } from "./Secrets.ts"
import { type Conflict, type StoreError, untilSaved } from "./Store.ts"
import * as Token from "./Token.ts"
import type { Scope, TokenAnswer } from "./Token.ts"
import { type Decision, InvalidGrant, redeem, rotate, type ScopeExceeded } from "./TokenRequest.ts"

/** A required parameter is missing (RFC 6749 §5.2 `invalid_request`). */
export class MissingParameter extends Schema.TaggedError<MissingParameter>()("@startlist/core/MissingParameter", {
  name: Schema.Literal("redirect_uri", "code_verifier")
}) {}

/** An error of `ClientCredentials.admit`. */
export interface Tagged {
  readonly _tag: string
}

/** Common input of exchanges and refreshes. */
interface Asked<E> {
  readonly client: ClientCredentials<E>
  /** The client's `Idempotency-Key`: 1 to 255 printable characters. A repeat with it gets the same answer. */
  readonly idempotencyKey?: Option.Option<string>
  /** Network address of the client, for the audit. Default: empty. */
  readonly address?: string
}

/** A code, and what proves that it is the client's own. */
export interface Exchange<E = never> extends Asked<E> {
  readonly code: Redacted.Redacted<string>
  readonly redirectUri: Option.Option<string>
  readonly verifier: Option.Option<Redacted.Redacted<string>>
}

/** A refresh token, and the wanted scope. */
export interface Refresh<E = never> extends Asked<E> {
  readonly token: Redacted.Redacted<string>
  /** The requested scope (RFC 6749 §6), within that of the grant. A smaller one does not narrow the tokens. */
  readonly scope?: Option.Option<Scope>
}

/** Both requests for tokens. `OAuth` has them. */
export interface TokenRequests {
  /** Exchanges a code for tokens (requirements §4.2), with the granted scope and the request's state. */
  readonly exchange: <E extends Tagged = never>(
    exchange: Exchange<E>
  ) => Effect.Effect<TokenAnswer, InvalidClient | MissingParameter | InvalidGrant | StoreError | E>
  /** Exchanges a refresh token for a new pair with the scope of the grant (requirements §4.3). */
  readonly refresh: <E extends Tagged = never>(
    refresh: Refresh<E>
  ) => Effect.Effect<TokenAnswer, InvalidClient | InvalidGrant | ScopeExceeded | StoreError | E>
}

const reasons: Readonly<Record<string, string>> = {
  "@startlist/core/InvalidClient": "invalid_client",
  "@startlist/core/MissingParameter": "missing_parameter",
  "@startlist/core/ScopeExceeded": "scope_exceeded",
  "@startlist/core/StoreError": "unavailable"
}

/** The reason of a refusal. Any other error is that of `admit`. */
const reasonOf = (error: Tagged): string =>
  error instanceof InvalidGrant ? error.reason : reasons[error._tag] ?? "not_admitted"

const unknownGrant = new InvalidGrant({ reason: "unknown" })

/** A copy of the application is not of the version that was found with the grant. Nothing was done. */
class Outdated extends Schema.TaggedError<Outdated>()("@startlist/core/Outdated", {}) {}

const outdated = new Outdated()

/** Whether the application that was found with a grant is the one that has proven its secret. */
type IsCurrent = (found: Found) => boolean

const isOutdated = (error: unknown): error is Outdated => error instanceof Outdated

/** With an application that was just found, nothing is outdated. */
const certain = <A, E>(use: (isCurrent: IsCurrent) => Effect.Effect<A, E | Outdated>) =>
  Effect.catchIf(use(() => true), isOutdated, Effect.die)

/** Maximum number of copies of applications. */
const maxCopies = 1000

/**
 * Makes a function that authenticates a client by the copy of its last refresh, and continues. `use` fails as `outdated`
 * before it decides anything, if the application of the grant is not current. Then the application is found, as for a first
 * request; also if the secret is wrong, `admit` refuses, or there is no grant. So no refusal depends on a copy.
 */
const makeWithKnownClient = (withClient: Effect.Effect.Success<typeof makeWithClient>) =>
  Effect.map(Secrets, ({ hash }) => {
    const copies = new Map<Application.ApplicationId, Application.Application>()
    const remember = (application: Application.Application) => {
      if (copies.size >= maxCopies) copies.clear()
      copies.set(application.id, application)
    }
    return <A, E, R>(
      client: ClientCredentials<R>,
      now: DateTime.Utc,
      use: (isCurrent: IsCurrent) => Effect.Effect<A, E | Outdated>
    ) => {
      const { admit, id, secret } = client
      const found = Effect.suspend(() =>
        withClient(client, now, (application) => {
          remember(application)
          return certain(use)
        })
      )
      const copy = Option.fromNullable(copies.get(id))
      const known = Application.authenticate(copy, hash(Redacted.value(secret)), now)
      if (Either.isLeft(known)) return found
      const { right: application } = known
      let isChecked = false
      const isCurrent: IsCurrent = ({ application: { version } }) => isChecked ||= version === application.version
      const used = use(isCurrent).pipe(
        // There may be no grant, and therefore no application to compare the copy with.
        Effect.catchIf(
          (error) => !isChecked && error instanceof InvalidGrant && error.reason === "unknown",
          (error) => withClient(client, now, () => Effect.fail(error))
        ),
        // Last: what was found needs no other check.
        Effect.catchIf(isOutdated, () => found)
      )
      return admit === undefined
        ? used
        : Effect.matchEffect(admit(application), { onFailure: () => found, onSuccess: () => used })
    }
  })

/** Makes both requests over their ports. */
export const make: Effect.Effect<
  TokenRequests,
  never,
  Audit | Application.ApplicationStore | GrantStore | Secrets
> = Effect.gen(function*() {
  const audit = yield* Audit
  const grants = yield* GrantStore
  const secrets = yield* Secrets
  const policy = yield* Policy
  const withClient = yield* makeWithClient
  const withKnownClient = yield* makeWithKnownClient(withClient)
  const findImported = yield* makeFindImported

  // Refreshes are the most frequent requests: chains of `flatMap`, because a generator takes nearly twice the steps.
  const withNow = makeWithNow()

  /** Finds the grant that a code or refresh token names, decides, and saves the decision. */
  const issue = <N extends Token.Name, E>(
    { address = "", client }: Asked<unknown>,
    named: Option.Option<N>,
    now: DateTime.Utc,
    decide: (found: Found, salt: string, name: N) => Decision<E>
  ): Effect.Effect<TokenAnswer, E | InvalidGrant | StoreError> => {
    if (Option.isNone(named)) return unknownGrant
    const name = named.value

    /** Records that a used code, or an older refresh token, was refused. */
    const recordReplay = (detail: InvalidGrant["reason"]) => {
      const [actor, subject] = [Party.Application({ applicationId: client.id }), Party.User({ userId: name.userId })]
      return audit.record(Entry.Acted({ at: now, action: "replay_refused", actor, subject, address, detail }))
    }

    return Effect.flatMap(secrets.makeSalt, (salt) => {
      const attempt: Effect.Effect<TokenAnswer, E | InvalidGrant | Conflict | StoreError> = Effect.flatMap(
        grants.find(name.applicationId, name.userId),
        (found): typeof attempt => {
          if (Option.isNone(found)) return unknownGrant
          const decision = decide(found.value, salt, name)
          switch (decision._tag) {
            case "Issued":
              return Effect.as(grants.save(decision.change), decision.tokens)
            case "Repeated":
              return Effect.succeed(decision.tokens)
            case "Refused":
              return Effect.fail(decision.error)
            case "Replayed":
              // Also over several conflicts: a thief that disconnects must not prevent the revocation or the entry.
              return Effect.forEach(Option.toArray(decision.revocation), (change) => grants.save(change)).pipe(
                Effect.zipRight(recordReplay(decision.error.reason)),
                Effect.zipRight(Effect.fail(decision.error)),
                Effect.catchTag("@startlist/core/Conflict", () => untilSaved(attempt)),
                uninterrupted
              )
          }
        }
      )
      return untilSaved(attempt)
    })
  }

  /** Runs a request, and records its outcome. */
  const answered = <E extends Tagged>(
    grantType: GrantType,
    request: (now: DateTime.Utc) => Effect.Effect<TokenAnswer, E>
  ): Effect.Effect<TokenAnswer, E> =>
    Effect.tapBoth(withNow(request), {
      onSuccess: () => audit.record(Entry.TokensIssued({ grantType })),
      onFailure: (error) => audit.record(Entry.TokensRefused({ grantType, reason: reasonOf(error) }))
    })

  const exchange: TokenRequests["exchange"] = (asked) =>
    answered("authorization_code", (now) =>
      withClient(
        asked.client,
        now,
        ({ requirePkce }): Effect.Effect<TokenAnswer, MissingParameter | InvalidGrant | StoreError> => {
          const { client, code, idempotencyKey = Option.none(), redirectUri, verifier } = asked
          const applicationId = client.id
          if (policy.requireRedirectUri && Option.isNone(redirectUri)) {
            return new MissingParameter({ name: "redirect_uri" })
          }
          if (requirePkce && Option.isNone(verifier)) return new MissingParameter({ name: "code_verifier" })
          const challenge = Option.map(verifier, (secret) => secrets.hash(Redacted.value(secret)))
          return issue(asked, Token.parse("code", code), now, (found, salt) => {
            const presented = { applicationId, presented: code, salt, idempotencyKey, redirectUri, challenge }
            return redeem(asOf(found), presented, secrets, now, policy)
          })
        }
      ))

  const refresh: TokenRequests["refresh"] = (asked) =>
    answered("refresh_token", (now) => {
      const { client, idempotencyKey = Option.none(), scope = Option.none(), token } = asked
      const applicationId = client.id
      const rotated = (named: Option.Option<Token.RefreshName>, isCurrent: IsCurrent) =>
        issue(asked, named, now, (found, salt, name): Decision<ScopeExceeded | Outdated> => {
          if (!isCurrent(found)) return { _tag: "Refused", error: outdated }
          const presented = { applicationId, presented: token, salt, idempotencyKey, scope, name }
          return rotate(asOf(found), presented, secrets, now, policy)
        })
      const named = Token.parseRefresh(token)
      if (Option.isSome(named) && named.value.applicationId === applicationId) {
        return withKnownClient(client, now, (isCurrent) => rotated(named, isCurrent))
      }
      return withClient(client, now, () =>
        Effect.flatMap(
          Option.isSome(named)
            ? Effect.succeed<Option.Option<Token.RefreshName>>(named)
            : Effect.map(findImported(token), Option.filter(({ kind }) => kind === "refresh")),
          (name) => certain((isCurrent) => rotated(name, isCurrent))
        ))
    })

  return { exchange, refresh }
})

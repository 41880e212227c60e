/** Issuing a pair of tokens for a code or a refresh token: what exchanging and refreshing have in common. */
import type * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Grant from "../Grant.ts"
import type { GrantStore } from "../GrantStore.ts"
import type { Policy } from "../Policy.ts"
import type { Secrets } from "../Secrets.ts"
import { type Conflict, type StoreError, untilSaved } from "../Store.ts"
import type { Tokens } from "../Token.ts"
import { makeInstants } from "./instants.ts"

type Refused = Grant.InvalidGrant | Grant.ScopeExceeded

const isReplay = (refused: Refused): boolean => refused._tag === "InvalidGrant" && refused.reason === "replayed"

export const makeIssue = ({ grants, policy, secrets }: {
  readonly grants: GrantStore.Service
  readonly policy: Policy.Service
  readonly secrets: Secrets.Service
}) => {
  const hashOf = (secret: Redacted.Redacted<string>) => secrets.hash(Redacted.value(secret))
  const makeAccess = secrets.make("access")
  const makeRefresh = secrets.make("refresh")
  const accessLifetime = Duration.toMillis(policy.accessTokenLifetime)
  const refreshIdle = Duration.toMillis(policy.refreshTokenIdle)
  const toAccessExpiry = makeInstants()
  const toRefreshExpiry = makeInstants()

  /** Finds the grant of a credential, decides on a fresh pair of tokens, and saves what was decided. */
  return <Credential, E extends Refused, A>(
    now: DateTime.Utc,
    find: Effect.Effect<Option.Option<Grant.Found<Credential>>, StoreError>,
    decide: (found: Grant.Found<Credential>, fresh: Grant.FreshTokens) => Either.Either<Grant.Change, E>,
    answer: (tokens: Tokens, credential: Credential) => A,
    onReplay: Effect.Effect<void>
  ): Effect.Effect<A, E | Grant.InvalidGrant | StoreError> =>
    Effect.flatMap(makeAccess, (accessToken) =>
      Effect.flatMap(makeRefresh, (refreshToken) => {
        const accessExpiresAt = toAccessExpiry(now.epochMillis + accessLifetime)
        const fresh = {
          access: hashOf(accessToken),
          accessExpiresAt,
          refresh: hashOf(refreshToken),
          refreshExpiresAt: toRefreshExpiry(now.epochMillis + refreshIdle)
        }
        const attempt = (isLasting: boolean): Effect.Effect<A, E | Grant.InvalidGrant | Conflict | StoreError> =>
          Effect.flatMap(find, (found): Effect.Effect<A, E | Grant.InvalidGrant | Conflict | StoreError> => {
            if (Option.isNone(found)) return new Grant.InvalidGrant({ reason: "unknown" })
            const { credential, grant } = found.value
            const decision = decide(found.value, fresh)
            if (Either.isRight(decision)) {
              const { scope } = decision.right.grant
              const tokens = { accessToken, refreshToken, createdAt: now, expiresAt: accessExpiresAt, scope }
              return Effect.map(grants.save(decision.right), () => answer(tokens, credential))
            }
            const refused = Effect.fail(decision.left)
            if (!isReplay(decision.left)) return refused
            // A replay is refused, but not before the grant is revoked; and that is not given up with the request, however
            // often it is decided again.
            return isLasting
              ? Effect.zipRight(Effect.zipRight(grants.save(Grant.revoke(grant)), onReplay), refused)
              : Effect.disconnect(Effect.uninterruptible(untilSaved(attempt(true))))
          })
        return untilSaved(attempt(false))
      }))
}

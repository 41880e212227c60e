/** The in-memory grant store. */
import type * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { GrantStore } from "../GrantStore.ts"
import type { TokenHash } from "../Secrets.ts"
import type { Enqueue } from "./memoryDeliveries.ts"
import { compareAndSet, type Kept, keyOf, saving, type State } from "./memoryState.ts"

export const makeGrantStore = (state: State, enqueue: Enqueue): GrantStore.Service => {
  const { accessTokens, codes, grants, refreshTokens } = state

  const findIn = <Credential>(kept: ReadonlyMap<TokenHash, Kept<Credential>>) => (hash: TokenHash) =>
    Effect.sync(() => {
      const found = kept.get(hash)
      const grant = found && grants.get(found.grantKey)
      return found && grant ? Option.some({ grant, credential: found.credential }) : Option.none()
    })

  const removeExpired = (
    kept: Map<TokenHash, Kept<{ readonly expiresAt: DateTime.Utc }>>,
    by: DateTime.Utc,
    limit: number
  ): number => {
    let removed = 0
    for (const [hash, { credential }] of kept) {
      if (removed === limit) break
      if (credential.expiresAt.epochMillis > by.epochMillis) continue
      kept.delete(hash)
      removed++
    }
    return removed
  }

  return {
    find: (applicationId, userId) => Effect.sync(() => Option.fromNullable(grants.get(keyOf(applicationId, userId)))),
    findByCode: findIn(codes),
    findByRefresh: findIn(refreshTokens),
    findByAccess: findIn(accessTokens),
    listByUser: (userId) =>
      Effect.sync(() =>
        [...grants.values()]
          .filter((grant) => grant.userId === userId && grant.status === "active")
          .sort((a, b) => a.grantedAt.epochMillis - b.grantedAt.epochMillis || a.applicationId - b.applicationId)
      ),
    save: ({ code, grant, issued, outgoing, redeemed }) =>
      saving(() => {
        const grantKey = keyOf(grant.applicationId, grant.userId)
        if (!compareAndSet(grants, grantKey, grant)) return false
        if (Option.isSome(code)) codes.set(code.value.hash, { grantKey, credential: code.value })
        if (Option.isSome(redeemed)) {
          const used = codes.get(redeemed.value)
          if (used) {
            codes.set(redeemed.value, { grantKey, credential: { ...used.credential, redeemed: true } })
          }
        }
        if (Option.isSome(issued)) {
          const { access, refresh } = issued.value
          accessTokens.set(access.hash, { grantKey, credential: access })
          refreshTokens.set(refresh.hash, { grantKey, credential: refresh })
        }
        enqueue(outgoing)
        return true
      }),
    purge: (expiredBy, limit) =>
      Effect.sync(() => {
        const access = removeExpired(accessTokens, expiredBy, limit)
        const refresh = removeExpired(refreshTokens, expiredBy, limit - access)
        return access + refresh + removeExpired(codes, expiredBy, limit - access - refresh)
      })
  }
}

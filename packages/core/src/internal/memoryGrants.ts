/** The in-memory grant store. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { GrantStore } from "../GrantStore.ts"
import type { Enqueue } from "./memoryDeliveries.ts"
import { compareAndSet, isActive, saving, type State } from "./memoryState.ts"

export const makeGrantStore = (state: State, enqueue: Enqueue): GrantStore.Service => {
  const { applications, erased, grants } = state
  return {
    find: (applicationId, userId) =>
      Effect.sync(() => {
        const grant = grants.get(applicationId)?.get(userId)
        const application = applications.get(applicationId)
        return grant === undefined || application === undefined ? Option.none() : Option.some({ grant, application })
      }),
    listByUser: (userId) =>
      Effect.sync(() =>
        [...grants.values()]
          .flatMap((ofApplication) => ofApplication.get(userId) ?? [])
          .filter((grant) => isActive(state, grant))
          .sort((a, b) => a.grantedAt.epochMillis - b.grantedAt.epochMillis || a.applicationId - b.applicationId)
      ),
    listByApplication: (applicationId, limit) =>
      Effect.sync(() =>
        [...grants.get(applicationId)?.values() ?? []].filter((grant) => isActive(state, grant)).slice(0, limit)
      ),
    save: ({ grant, outgoing }) =>
      saving(() => {
        const ofApplication = grants.get(grant.applicationId) ?? new Map()
        if (grant.version === 1 && erased.has(grant.userId)) return false
        if (!compareAndSet(ofApplication, grant.userId, grant)) return false
        grants.set(grant.applicationId, ofApplication)
        enqueue(outgoing)
        return true
      })
  }
}

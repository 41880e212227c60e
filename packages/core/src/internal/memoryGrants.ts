/** The in-memory grant store. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { GrantStore } from "../GrantStore.ts"
import type { Enqueue } from "./memoryDeliveries.ts"
import { compareAndSet, saving, type State } from "./memoryState.ts"

export const makeGrantStore = ({ grants }: State, enqueue: Enqueue): GrantStore.Service => ({
  find: (applicationId, userId) => Effect.sync(() => Option.fromNullable(grants.get(applicationId)?.get(userId))),
  listByUser: (userId) =>
    Effect.sync(() =>
      [...grants.values()]
        .flatMap((ofApplication) => ofApplication.get(userId) ?? [])
        .filter(({ status }) => status === "active")
        .sort((a, b) => a.grantedAt.epochMillis - b.grantedAt.epochMillis || a.applicationId - b.applicationId)
    ),
  save: ({ grant, outgoing }) =>
    saving(() => {
      const ofApplication = grants.get(grant.applicationId) ?? new Map()
      if (!compareAndSet(ofApplication, grant.userId, grant)) return false
      grants.set(grant.applicationId, ofApplication)
      enqueue(outgoing)
      return true
    })
})

/** The in-memory store of erased users. */
import * as Effect from "effect/Effect"
import type { PersonStore } from "../PersonStore.ts"
import { emptyUpdates } from "../Registration.ts"
import type { UserId } from "../User.ts"
import { cancel, type Enqueue } from "./memoryDeliveries.ts"
import { isActive, saving, type State } from "./memoryState.ts"

export const makePersonStore = (state: State, enqueue: Enqueue): PersonStore.Service => {
  const { deliveries, erased, grants, registrations } = state
  const registrationsOf = (id: UserId) => [...registrations.values()].filter(({ parties }) => parties.athleteId === id)
  return {
    isErased: (id) => Effect.sync(() => erased.has(id)),
    registrations: (id) => Effect.sync(() => registrationsOf(id)),
    erase: ({ at, registrationIds, revocations, userId }) =>
      saving(() => {
        const active = [...grants.values()].flatMap((all) => all.get(userId) ?? []).filter((one) =>
          isActive(state, one)
        )
        const isNext = (one: typeof active[number]) =>
          revocations.some(({ grant }) =>
            grant.applicationId === one.applicationId && grant.version === one.version + 1
          )
        if (active.length !== revocations.length || !active.every(isNext)) return false
        for (const all of grants.values()) all.delete(userId)
        for (const { outgoing } of revocations) enqueue(outgoing)
        erased.add(userId)
        const cleared = new Set<number>(registrationIds)
        for (const one of registrationsOf(userId)) {
          registrations.set(one.id, { ...one, version: one.version + 1, updates: emptyUpdates })
          cleared.add(one.id)
        }
        for (const queued of deliveries.values()) {
          const { delivery } = queued
          if (delivery.event.objectType !== "registration" || !cleared.has(delivery.event.objectId)) continue
          queued.delivery = { ...delivery, event: { ...delivery.event, updates: emptyUpdates }, attempts: [] }
          if (delivery.state === "pending") cancel(state, queued, at)
        }
        return true
      })
  }
}

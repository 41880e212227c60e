/** Checks which subscriptions may exist (laws 7 and 8). */
import type { ApplicationId } from "@startlist/core/Application"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import type { History } from "./History.ts"

interface Subscribed {
  readonly subscription: Subscription
  /** The moment when it was stored. */
  readonly since: number
  isRemoved: boolean
}

export type SubscriptionChecker = ReturnType<typeof makeSubscriptionChecker>

export const makeSubscriptionChecker = (history: History) => {
  const all = new Map<SubscriptionId, Subscribed>()
  /** Number of challenges that each callback URL answered, less the subscriptions that were stored for it. */
  const proofs = new Map<string, number>()

  /** Subscriptions that are not removed. */
  const present = (): ReadonlyArray<Subscription> =>
    [...all.values()].flatMap(({ isRemoved, subscription }) => isRemoved ? [] : [subscription])

  const of = (applicationId: ApplicationId): Subscription | undefined =>
    present().find((subscription) => subscription.applicationId === applicationId)

  return {
    present,
    of,
    proved: (callbackUrl: string): void => void proofs.set(callbackUrl, (proofs.get(callbackUrl) ?? 0) + 1),
    inserted: (subscription: Subscription): void => {
      const { applicationId, callbackUrl, id } = subscription
      const left = (proofs.get(callbackUrl) ?? 0) - 1
      history.check(7, left >= 0, `subscription ${id} was stored, and its callback never answered a challenge`)
      history.check(7, of(applicationId) === undefined, `application ${applicationId} has a second subscription, ${id}`)
      history.check(8, !all.has(id), `subscription ${id} is new, and has the identifier of one that was deleted`)
      all.set(id, { subscription, since: history.moment, isRemoved: false })
      proofs.set(callbackUrl, left)
    },
    removed: (id: SubscriptionId): void => {
      const subscribed = all.get(id)
      if (subscribed !== undefined) subscribed.isRemoved = true
    },
    /** The subscription as it is, or was before it was removed. */
    get: (id: SubscriptionId): Subscribed | undefined => all.get(id),
    isRemoved: (id: SubscriptionId): boolean => all.get(id)?.isRemoved === true
  }
}

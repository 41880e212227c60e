/** Which subscriptions there are, and were; and the checks of law 7. */
import type { ApplicationId } from "@startlist/core/Application"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import type { History } from "./History.ts"

interface Subscribed {
  readonly subscription: Subscription
  /** The moment when it was stored. */
  readonly since: number
  removed: boolean
}

export class SubscriptionChecker {
  readonly #history: History
  readonly #all = new Map<SubscriptionId, Subscribed>()
  /** How often each callback URL answered a challenge as it must, less the subscriptions that were stored for it. */
  readonly #proven = new Map<string, number>()

  constructor(history: History) {
    this.#history = history
  }

  proved(callbackUrl: string): void {
    this.#proven.set(callbackUrl, (this.#proven.get(callbackUrl) ?? 0) + 1)
  }

  inserted(subscription: Subscription): void {
    const { applicationId, callbackUrl, id } = subscription
    const proofs = this.#proven.get(callbackUrl) ?? 0
    const check = (law: number, holds: boolean, message: string) => this.#history.check(law, holds, () => message)
    check(7, proofs > 0, `subscription ${id} was stored, and its callback never answered a challenge`)
    const second = this.of(applicationId) !== undefined
    check(7, !second, `application ${applicationId} has a second subscription, ${id}`)
    check(8, !this.#all.has(id), `subscription ${id} is new, and has the identifier of one that was deleted`)
    this.#all.set(id, { subscription, since: this.#history.moment, removed: false })
    this.#proven.set(callbackUrl, proofs - 1)
  }

  removed(id: SubscriptionId): void {
    const subscribed = this.#all.get(id)
    if (subscribed !== undefined) subscribed.removed = true
  }

  /** As it is, or was before it was removed. */
  get(id: SubscriptionId): Subscribed | undefined {
    return this.#all.get(id)
  }

  isRemoved(id: SubscriptionId): boolean {
    return this.#all.get(id)?.removed === true
  }

  /** Those that are not removed. */
  present(): ReadonlyArray<Subscription> {
    return [...this.#all.values()].flatMap(({ removed, subscription }) => removed ? [] : [subscription])
  }

  of(applicationId: ApplicationId): Subscription | undefined {
    return this.present().find((subscription) => subscription.applicationId === applicationId)
  }
}

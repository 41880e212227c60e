/**
 * Compares every save and every answer with the model of the programs.
 *
 * Writes happen one at a time, so the model takes a step with each. The answer to a request that saves nothing must be
 * the one that the model predicts for the request's last read.
 */
import type { Application } from "@startlist/core/Application"
import type { Delivery } from "@startlist/core/Delivery"
import type { Change } from "@startlist/core/Grant"
import type { Policy } from "@startlist/core/Policy"
import type { Registration } from "@startlist/core/Registration"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type { HistoryEntry, Request } from "../HistoryEntry.ts"
import * as Model from "../Model.ts"
import { nameOf, placeOf as knownAs, type ProgramFixture, subscriptionOf } from "../programFixture.ts"
import type { History } from "./History.ts"

/** A request that arrived at a node. */
export interface Call {
  readonly request: Request
  /** In seconds, by the clock of the node. */
  readonly at: number
  /** The state of the model at its last read. */
  basis: Model.State
  /** The standing of applications when it authenticated its client. */
  standing: Model.State["standing"] | undefined
  /** Whether the callback answered its challenge. */
  isProven: boolean
  /** The result that the model predicted for its save. */
  saved: string | undefined
}

/** The call that a fiber works for. */
export const currentCall: FiberRef.FiberRef<Call | undefined> = FiberRef.unsafeMake<Call | undefined>(undefined)

interface Subscribed {
  readonly subscription: Subscription
  isRemoved: boolean
  /** The state in which it did not exist any more. */
  without: Model.State
}

/** The law that is broken if a request of this kind is not answered as the model predicts. */
const laws: Readonly<Record<Request["_tag"], number>> = {
  Consented: 3,
  Redeemed: 3,
  Refreshed: 1,
  Called: 2,
  Revoked: 2,
  RevokedByUser: 2,
  Erased: 13,
  Subscribed: 7,
  Unsubscribed: 8,
  StateSet: 14,
  AllRevoked: 14,
  Ended: 14,
  PauseSet: 14,
  RegistrationCreated: 4,
  StatusChanged: 4,
  Redelivered: 8,
  Purged: 4
}

const placeOf = (all: ReadonlyArray<{ readonly id: number }>, id: number) => all.findIndex((one) => one.id === id)

const issuing: ReadonlySet<Request["_tag"]> = new Set(["Redeemed", "Refreshed"])

export class Oracle {
  state: Model.State
  readonly #history: History
  readonly #fixture: ProgramFixture
  readonly #subscriptions = new Map<SubscriptionId, Subscribed>()
  readonly #applications = new Map<number, Application>()

  constructor(history: History, fixture: ProgramFixture, replay: Policy.Service["replay"]) {
    this.#history = history
    this.#fixture = fixture
    this.state = Model.empty(replay)
  }

  /** Takes a step for an operation that no store shows. */
  assume(entry: HistoryEntry): void {
    this.state = Model.predict(this.state, entry).next
  }

  arrive(request: Request, at: number): Call {
    return { request, at, basis: this.state, standing: undefined, isProven: false, saved: undefined }
  }

  /** A call reads now. The standing of its application is that at the authentication of its client. */
  reads(call: Call | undefined): void {
    if (call !== undefined) call.basis = this.#seenBy(call)
  }

  authenticates(call: Call | undefined): void {
    if (call !== undefined && ("client" in call.request || call.request._tag === "Consented")) {
      call.standing = this.state.standing
    }
    this.reads(call)
  }

  #seenBy({ standing = this.state.standing }: Call): Model.State {
    return standing === this.state.standing ? this.state : { ...this.state, standing }
  }

  /** Checks the answer to a call. The result of a call without an answer is not known to its caller. */
  answered(call: Call, entry: HistoryEntry): void {
    if (entry.result === "@startlist/core/StoreError") return
    const seen = entry._tag === "Subscribed" ? { ...entry, isProven: call.isProven } : entry
    const { next, result } = Model.predict(call.basis, seen)
    if (entry._tag === "Erased") this.assume(entry)
    const expected = call.saved ?? result
    const what = `${entry._tag} ${JSON.stringify(call.request)}`
    const law = laws[entry._tag]
    this.#history.check(law, entry.result === expected, `${what}: the answer is ${entry.result}, not ${expected}`)
    const mustSave = entry._tag !== "Erased" && (result === "ok" || result === "replayed")
    const isSaved = !mustSave || call.saved !== undefined || next === call.basis
    this.#history.check(law, isSaved, `${what} was answered, and nothing was saved`)
    const isKnown = entry.made < 0 || !issuing.has(entry._tag) ||
      Object.values(this.state.grants).some(({ refresh }) => entry.made in refresh)
    this.#history.check(law, isKnown, `${what}: the tokens of the answer were never saved`)
    this.#history.count(`${entry._tag} ${entry.result}`)
  }

  /**
   * A step of the model. Returns the events that must be delivered. If `revoked` is a grant, all grants of its
   * application were revoked since the call read it: the call saves it in its previous life.
   */
  #step(request: Request, call: Call | undefined, made = -1, revoked = ""): ReadonlyArray<string> {
    const seen = call === undefined ? this.state : this.#seenBy(call)
    const living = call?.basis.grants[revoked]
    const before = living === undefined ? seen : { ...seen, grants: { ...seen.grants, [revoked]: living } }
    const entry: HistoryEntry = { ...request, at: call?.at ?? 0, result: "ok", made }
    const { next, result } = Model.predict(before, entry)
    const what = `${JSON.stringify(request)} saved something, and had to be ${result}`
    this.#history.check(laws[request._tag], next !== before, what)
    if (call?.request._tag === request._tag) call.saved = result
    const standing = next.standing === before.standing ? this.state.standing : next.standing
    return this.#become(Model.end({ ...next, standing }, revoked))
  }

  #become(next: Model.State): ReadonlyArray<string> {
    const added = Object.entries(next.deliveries).flatMap(([place, events]) =>
      events.slice(this.state.deliveries[Number(place)]?.length ?? 0).map((event) => `${event} to ${place}`)
    )
    this.state = next
    return added
  }

  #applicationOf(id: number): number {
    return placeOf(this.#fixture.applications, id)
  }

  savedGrant({ grant }: Change, call: Call | undefined): ReadonlyArray<string> {
    if (call === undefined) return []
    const { pairs, codes } = this.#fixture
    const application = this.#applicationOf(grant.applicationId)
    const user = placeOf(this.#fixture.users, grant.userId)
    const code = call.request._tag === "Consented" ? grant.codes.at(-1) : undefined
    const made = code === undefined
      ? Option.match(grant.refresh, {
        onNone: () => -1,
        onSome: ({ hash }) => knownAs(pairs, { hash, application, access: undefined, refresh: undefined })
      })
      : knownAs(codes, { hash: code.hash, application, user, secret: undefined, verifier: Option.none() })
    const isOfEpoch = grant.applicationEpoch === (this.#applications.get(application)?.epoch ?? 0)
    return this.#step(call.request, call, made, isOfEpoch ? "" : Model.keyOf(application, user))
  }

  savedApplication(next: Application, call: Call | undefined): ReadonlyArray<string> {
    const application = this.#applicationOf(next.id)
    const before = this.#applications.get(application) ?? { state: "active", epoch: 0 }
    this.#applications.set(application, next)
    const { subscriptions } = this.state
    // The same call removes the subscription.
    if (next.state === "ended") {
      this.#step({ _tag: "Ended", application }, call)
      return this.#become({ ...this.state, subscriptions })
    }
    if (next.state !== before.state) return this.#step({ _tag: "StateSet", application, state: next.state }, call)
    return next.epoch === before.epoch ? [] : this.#step({ _tag: "AllRevoked", application }, call)
  }

  savedRegistration({ id, updates }: Registration, call: Call | undefined): ReadonlyArray<string> {
    const registration = this.#fixture.registrations.indexOf(id)
    const status = updates.registration_status
    const event = `updated registration ${registration} ${status}`
    return this.#step({ _tag: "StatusChanged", registration, status, event }, call)
  }

  inserted(subscription: Subscription, call: Call | undefined): ReadonlyArray<string> {
    const { applicationId, id } = subscription
    this.#history.check(
      8,
      !this.#subscriptions.has(id),
      `subscription ${id} has the identifier of one that was deleted`
    )
    this.#subscriptions.set(id, { subscription, isRemoved: false, without: this.state })
    const application = this.#applicationOf(applicationId)
    return this.#step(
      { _tag: "Subscribed", application, isProven: call?.isProven === true },
      call,
      subscriptionOf(this.#fixture, id)
    )
  }

  paused({ applicationId, paused }: Subscription, call: Call | undefined): ReadonlyArray<string> {
    return this.#step({ _tag: "PauseSet", application: this.#applicationOf(applicationId), paused }, call)
  }

  removed(id: SubscriptionId, call: Call | undefined): ReadonlyArray<string> {
    const subscribed = this.#subscriptions.get(id)
    if (subscribed === undefined) return []
    const added = this.#step(
      { _tag: "Unsubscribed", application: this.#applicationOf(subscribed.subscription.applicationId) },
      call
    )
    subscribed.isRemoved = true
    subscribed.without = this.state
    return added
  }

  /** A call finds that a subscription, which it has read, was removed. There may be a new one since. */
  missed(id: SubscriptionId, call: Call | undefined): void {
    const subscribed = this.#subscriptions.get(id)
    if (call === undefined || subscribed?.isRemoved !== true) return
    const { without } = subscribed
    call.basis = { ...without, standing: call.standing ?? without.standing }
  }

  again(delivery: Delivery, call: Call | undefined): ReadonlyArray<string> {
    const subscription = subscriptionOf(this.#fixture, delivery.subscriptionId)
    return this.#step({ _tag: "Redelivered", subscription, event: nameOf(this.#fixture, delivery) }, call)
  }

  /** Whether a grant of the model is one of this application (and of this user, if given). */
  isOf(grant: string, applicationId: number, userId?: number): boolean {
    const [application, user] = grant.split("/").map(Number)
    return application === this.#applicationOf(applicationId) &&
      (userId === undefined || user === placeOf(this.#fixture.users, userId))
  }

  /** A subscription as it was stored, also after its removal. */
  subscription(id: SubscriptionId): Subscribed | undefined {
    return this.#subscriptions.get(id)
  }

  /** Whether the events of a subscription wait. */
  isHeld({ subscription: { applicationId } }: Subscribed): boolean {
    return Model.isHeld(this.state, this.#applicationOf(applicationId))
  }

  /** The name of a delivery in the model. */
  describe(delivery: Delivery): string {
    return `${nameOf(this.#fixture, delivery)} to ${subscriptionOf(this.#fixture, delivery.subscriptionId)}`
  }
}

/**
 * The model: a pure function that predicts the result of each operation and the state after it. It uses the words of
 * the interface and is far simpler than the core. `Grant.ts` has its rules of one grant.
 *
 * Results of parallel operations are right if some order of the operations gives them. The checker stores all states
 * that agree with the results. A law is broken when no state is left.
 */
import * as Grant from "./Grant.ts"
import type { HistoryEntry } from "./HistoryEntry.ts"

/** Records are numbered in the order of their appearance. Times are seconds. */
export interface State {
  readonly replay: Grant.Replay
  /** By `application/user`. */
  readonly grants: Readonly<Record<string, Grant.Grant>>
  /** Applications that are not active. */
  readonly standing: Readonly<Record<number, "suspended" | "ended">>
  /** Subscriptions that are paused. */
  readonly paused: Readonly<Record<number, true>>
  readonly erased: Readonly<Record<number, true>>
  /** By application: the identifier. */
  readonly subscriptions: Readonly<Record<number, number>>
  readonly registrations: Readonly<Record<number, { readonly parties: ReadonlyArray<number>; readonly status: string }>>
  /** Events of each subscription, in order, delivered ones included. */
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

export const empty = (replay: Grant.Replay): State => ({
  replay,
  grants: {},
  standing: {},
  paused: {},
  erased: {},
  subscriptions: {},
  registrations: {},
  deliveries: {}
})

/** The expected result, and the state after it: the same state if nothing is saved. */
export interface Prediction {
  readonly result: string
  readonly next: State
}

export const keyOf = (application: number, user: number): string => `${application}/${user}`

export const applicationOf = (key: string): number => Number(key.split("/")[0])

/** Whether the events of an application wait (law 14). */
export const isHeld = ({ paused, standing, subscriptions }: State, application: number): boolean =>
  standing[application] !== undefined || paused[subscriptions[application] ?? -1] === true

/** The state with nothing suspended or paused. */
export const released = (state: State): State => ({
  ...state,
  paused: {},
  standing: Object.fromEntries(Object.entries(state.standing).filter(([, standing]) => standing === "ended"))
})

const withGrant = (state: State, key: string, grant: Grant.Grant): State =>
  state.grants[key] === grant ? state : { ...state, grants: { ...state.grants, [key]: grant } }

/** Ends a grant, if there is one. */
export const end = (state: State, key: string): State => {
  const grant = state.grants[key]
  return grant === undefined ? state : withGrant(state, key, Grant.end(grant))
}

const endAll = (state: State, application: number): State =>
  Object.keys(state.grants).filter((key) => applicationOf(key) === application).reduce(end, state)

/** The grant that has a code or a token, with its key. */
const ownerOf = ({ grants }: State, kind: "codes" | "access" | "refresh", place: number) =>
  Object.entries(grants).find(([, grant]) => place in grant[kind])

const enqueue = (state: State, subscription: number, event: string): State => ({
  ...state,
  deliveries: { ...state.deliveries, [subscription]: [...(state.deliveries[subscription] ?? []), event] }
})

/** The prediction for a request that issues tokens. A repeat gives the tokens of the first answer (law 1b). */
const issued = (state: State, key: string, { grant, pair, result }: Grant.Outcome, made: number): Prediction => ({
  result: pair === undefined || pair === made ? result : `${result}, with the tokens of the first answer`,
  next: withGrant(state, key, grant)
})

export const predict = (state: State, entry: HistoryEntry): Prediction => {
  const { at, made: pair } = entry
  const { replay } = state
  const refused = (result: string, next: State = state): Prediction => ({ result, next })
  const ok = (next: State): Prediction => ({ result: "ok", next })
  if ("client" in entry && state.standing[entry.client]) return refused("@startlist/core/InvalidClient")
  switch (entry._tag) {
    case "Consented": {
      if (state.standing[entry.application]) return refused("@startlist/core/InvalidRedirect")
      const key = keyOf(entry.application, entry.user)
      return ok(withGrant(state, key, Grant.consent(state.grants[key] ?? Grant.none, entry.made, at)))
    }
    case "Redeemed": {
      const [key, grant] = ownerOf(state, "codes", entry.code) ?? []
      if (grant === undefined || key === undefined) return refused("unknown")
      return issued(state, key, Grant.redeem(grant, entry.code, { ...entry, pair, replay }), pair)
    }
    case "Refreshed": {
      const [key, grant] = ownerOf(state, "refresh", entry.token) ?? []
      if (grant === undefined || key === undefined) return refused("unknown")
      return issued(state, key, Grant.refresh(grant, entry.token, { ...entry, pair, replay }), pair)
    }
    case "Revoked": {
      const [key, grant] = ownerOf(state, entry.by, entry.token) ?? []
      if (grant === undefined || key === undefined || !entry.isOwner) return ok(state)
      return ok(withGrant(state, key, Grant.revoke(grant, entry.by, entry.token, at)))
    }
    case "RevokedByUser": {
      const key = keyOf(entry.application, entry.user)
      const grant = state.grants[key]
      if (grant === undefined) return refused("@startlist/core/GrantNotFound")
      const subscription = state.subscriptions[entry.application]
      if (!grant.isAlive) return ok(state)
      const ended = end(state, key)
      return ok(
        subscription === undefined || entry.event === null
          ? ended
          : enqueue(ended, subscription, entry.event)
      )
    }
    case "Called": {
      const [key, grant] = ownerOf(state, "access", entry.token) ?? []
      return grant !== undefined && Grant.accepts(grant, entry.token, at) && !state.standing[applicationOf(key ?? "")]
        ? ok(state)
        : refused("@startlist/core/InvalidToken")
    }
    case "Erased":
      return ok({ ...state, erased: { ...state.erased, [entry.user]: true } })
    case "Subscribed": {
      if (state.subscriptions[entry.application] !== undefined) return refused("@startlist/core/AlreadySubscribed")
      if (!entry.isProven) return refused("@startlist/core/ValidationFailed")
      if (state.standing[entry.application] === "ended") return refused("@startlist/core/ApplicationNotFound")
      const subscriptions = { ...state.subscriptions, [entry.application]: entry.made }
      return ok({ ...state, subscriptions })
    }
    case "StateSet": {
      const { [entry.application]: present, ...others } = state.standing
      if (present === "ended") return refused("@startlist/core/ApplicationNotFound")
      if (entry.state === (present ?? "active")) return ok(state)
      const standing = entry.state === "active" ? others : { ...others, [entry.application]: entry.state }
      return ok({ ...state, standing })
    }
    case "AllRevoked":
      return state.standing[entry.application] === "ended"
        ? refused("@startlist/core/ApplicationNotFound")
        : ok(endAll({ ...state }, entry.application))
    case "Ended": {
      const { [entry.application]: _, ...subscriptions } = state.subscriptions
      if (state.standing[entry.application] === "ended") {
        return refused("@startlist/core/ApplicationNotFound", { ...state, subscriptions })
      }
      const standing = { ...state.standing, [entry.application]: "ended" as const }
      return ok(endAll({ ...state, standing, subscriptions }, entry.application))
    }
    case "PauseSet": {
      const subscription = state.subscriptions[entry.application]
      if (subscription === undefined) return refused("@startlist/core/SubscriptionNotFound")
      const { [subscription]: present, ...others } = state.paused
      if (entry.paused === (present ?? false)) return ok(state)
      return ok({ ...state, paused: entry.paused ? { ...others, [subscription]: true } : others })
    }
    case "Unsubscribed": {
      const { [entry.application]: removed, ...subscriptions } = state.subscriptions
      return removed === undefined ? refused("@startlist/core/SubscriptionNotFound") : ok({ ...state, subscriptions })
    }
    case "RegistrationCreated": {
      if (entry.parties.some((user) => state.erased[user])) return refused("@startlist/core/InvalidParty")
      const registration = { parties: entry.parties, status: "" }
      return ok({ ...state, registrations: { ...state.registrations, [entry.made]: registration } })
    }
    case "StatusChanged": {
      const registration = state.registrations[entry.registration]
      if (registration === undefined) return refused("@startlist/core/RegistrationNotFound")
      if (registration.status === entry.status) return ok(state)
      const changed: State = {
        ...state,
        registrations: {
          ...state.registrations,
          [entry.registration]: { ...registration, status: entry.status }
        }
      }
      return ok(
        Object.entries(state.subscriptions)
          .filter(([application]) =>
            registration.parties.some((user) => state.grants[keyOf(Number(application), user)]?.isAlive)
          )
          .reduce((next, [, subscription]) => enqueue(next, subscription, entry.event), changed)
      )
    }
    case "Redelivered":
      return Object.values(state.subscriptions).includes(entry.subscription)
        ? ok(enqueue(state, entry.subscription, entry.event))
        : refused("@startlist/core/SubscriptionNotFound")
    case "Purged":
      return ok({
        ...state,
        deliveries: Object.fromEntries(
          Object.entries(state.deliveries).map(([subscription, events]) => {
            const gone = entry.deliveries[Number(subscription)] ?? []
            return [subscription, events.filter((_, place) => !gone.includes(place))]
          })
        )
      })
  }
}

/** The states after an entry that agree with its result. */
export const step = (states: ReadonlyArray<State>, entry: HistoryEntry): ReadonlyArray<State> =>
  distinct(states.flatMap((state) => {
    const { next, result } = predict(state, entry)
    return entry.result === result ? [next] : []
  }))

/** The states after parallel entries: tries every order. */
export const stepTogether = (
  states: ReadonlyArray<State>,
  entries: ReadonlyArray<HistoryEntry>
): ReadonlyArray<State> =>
  entries.length === 0 ? states : distinct(entries.flatMap((first, index) => {
    const after = step(states, first)
    return after.length === 0 ? [] : stepTogether(after, entries.filter((_, other) => other !== index))
  }))

const distinct = (states: ReadonlyArray<State>): ReadonlyArray<State> =>
  states.length < 2 ? states : [...new Map(states.map((state) => [JSON.stringify(state), state])).values()]

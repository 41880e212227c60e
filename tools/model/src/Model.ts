/**
 * The model: a pure function that predicts the result of each operation and the state after it. It uses the words of
 * the interface and is far simpler than the core.
 *
 * Results of parallel operations are right if some order of the operations gives them. The checker stores all states
 * that agree with the results. A law is broken when no state is left.
 */
import type { HistoryEntry } from "./HistoryEntry.ts"
import {
  codeLifetime,
  empty,
  end,
  endAll,
  enqueue,
  type Grant,
  isAccepted,
  isLive,
  issue,
  keyOf,
  maxCodes,
  newest,
  repeats,
  replayGrace,
  type State,
  withGrant
} from "./modelState.ts"

export { empty, keyOf, type State }

/** The expected result, and the state after it: the same state if nothing is saved. */
export interface Prediction {
  readonly result: string
  readonly next: State
}

/** Predicts that the same pair is issued again (law 1b). */
const repeated = (state: State, { current }: Grant, pair: number): Prediction =>
  pair === current ? { result: "ok", next: state } : { result: "ok, with the tokens of the first answer", next: state }

export const predict = (state: State, entry: HistoryEntry): Prediction => {
  const { at } = entry
  const refused = (result: string, next: State = state): Prediction => ({ result, next })
  const ok = (next: State): Prediction => ({ result: "ok", next })
  switch (entry._tag) {
    case "Consented": {
      if (state.standing[entry.application]) return refused("InvalidRedirect")
      const key = keyOf(entry.application, entry.user)
      const present = state.grants[key]
      const fresh = { isAlive: true, current: null, previous: null, rotatedAt: 0, origin: "" }
      const grant = present?.isAlive ? present : { ...fresh, life: (present?.life ?? 0) + 1 }
      const code = { grant: key, life: grant.life, expiresAt: at + codeLifetime, isUsed: false }
      const codes = newest({ ...state.codes, [entry.made]: code }, key, maxCodes, at)
      return ok({ ...withGrant(state, key, grant), codes })
    }
    case "Redeemed": {
      if (state.standing[entry.client]) return refused("InvalidClient")
      const code = state.codes[entry.code]
      const grant = code && state.grants[code.grant]
      if (code === undefined || grant === undefined) return refused("unknown")
      if (at >= code.expiresAt || !isLive(state, code)) return refused("unknown")
      if (!entry.fits) return refused("mismatch")
      const asked = `code ${entry.code} ${entry.key}`
      if (code.isUsed) {
        return repeats(grant, asked, entry.key, at)
          ? repeated(state, grant, entry.made)
          : refused("replayed", end(state, code.grant))
      }
      const used = { ...state, codes: { ...state.codes, [entry.code]: { ...code, isUsed: true } } }
      return ok(issue(used, code.grant, at, entry.made, asked))
    }
    case "Refreshed": {
      if (state.standing[entry.client]) return refused("InvalidClient")
      const token = state.refresh[entry.token]
      if (token === undefined) return refused("unknown")
      if (!entry.isOwner) return refused("mismatch")
      const grant = state.grants[token.grant]
      if (grant === undefined || !isLive(state, token)) return refused("revoked")
      const asked = `refresh token ${entry.token} ${entry.key}`
      if (grant.current !== entry.token) {
        if (repeats(grant, asked, entry.key, at)) return repeated(state, grant, entry.made)
        return grant.previous === entry.token && at < grant.rotatedAt + replayGrace
          ? refused("replaced")
          : refused("replayed", end(state, token.grant))
      }
      if (at >= token.expiresAt) return refused("expired")
      return ok(issue(state, token.grant, at, entry.made, asked))
    }
    case "Revoked": {
      if (state.standing[entry.client]) return refused("InvalidClient")
      const token = state[entry.by][entry.token]
      const isGood = token !== undefined && isLive(state, token) && (entry.by === "refresh" || at < token.expiresAt)
      return ok(isGood && entry.isOwner ? end(state, token.grant) : state)
    }
    case "RevokedByUser": {
      const key = keyOf(entry.application, entry.user)
      const grant = state.grants[key]
      if (grant === undefined) return refused("GrantNotFound")
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
      const token = state.access[entry.token]
      return token !== undefined && isAccepted(state, token) && at < token.expiresAt
        ? ok(state)
        : refused("InvalidToken")
    }
    case "Erased":
      return ok({ ...state, erased: { ...state.erased, [entry.user]: true } })
    case "Subscribed": {
      if (state.subscriptions[entry.application] !== undefined) return refused("AlreadySubscribed")
      if (!entry.isProven) return refused("ValidationFailed")
      if (state.standing[entry.application] === "ended") return refused("ApplicationNotFound")
      const subscriptions = { ...state.subscriptions, [entry.application]: entry.made }
      return ok({ ...state, subscriptions })
    }
    case "StateSet": {
      const { [entry.application]: present, ...others } = state.standing
      if (present === "ended") return refused("ApplicationNotFound")
      if (entry.state === (present ?? "active")) return ok(state)
      const standing = entry.state === "active" ? others : { ...others, [entry.application]: entry.state }
      return ok({ ...state, standing })
    }
    case "AllRevoked":
      return state.standing[entry.application] === "ended"
        ? refused("ApplicationNotFound")
        : ok(endAll({ ...state }, entry.application))
    case "Ended": {
      const { [entry.application]: _, ...subscriptions } = state.subscriptions
      if (state.standing[entry.application] === "ended") {
        return refused("ApplicationNotFound", { ...state, subscriptions })
      }
      const standing = { ...state.standing, [entry.application]: "ended" as const }
      return ok(endAll({ ...state, standing, subscriptions }, entry.application))
    }
    case "PauseSet": {
      const subscription = state.subscriptions[entry.application]
      if (subscription === undefined) return refused("SubscriptionNotFound")
      const { [subscription]: present, ...others } = state.paused
      if (entry.paused === (present ?? false)) return ok(state)
      return ok({ ...state, paused: entry.paused ? { ...others, [subscription]: true } : others })
    }
    case "Unsubscribed": {
      const { [entry.application]: removed, ...subscriptions } = state.subscriptions
      return removed === undefined ? refused("SubscriptionNotFound") : ok({ ...state, subscriptions })
    }
    case "RegistrationCreated": {
      if (entry.parties.some((user) => state.erased[user])) return refused("InvalidParty")
      const registration = { parties: entry.parties, status: "" }
      return ok({ ...state, registrations: { ...state.registrations, [entry.made]: registration } })
    }
    case "StatusChanged": {
      const registration = state.registrations[entry.registration]
      if (registration === undefined) return refused("RegistrationNotFound")
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
        : refused("SubscriptionNotFound")
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

/**
 * The model: a pure function that predicts the result of each operation and the state after it, in the words of the
 * interface and far simpler than the core.
 *
 * Things that ran at once are right if they are right in some order. So the checker keeps all states that agree with
 * what was seen, and a law is broken when none is left.
 */
import type { HistoryEntry } from "./HistoryEntry.ts"

export interface Grant {
  readonly isAlive: boolean
  /** Counts consents after revocations. */
  readonly life: number
  /** The pairs of tokens whose refresh tokens are the current one and the one before. */
  readonly current: number | null
  readonly previous: number | null
  readonly rotatedAt: number
  /** What the current pair was given for. */
  readonly origin: string
}

interface Credential {
  readonly grant: string
  readonly life: number
  readonly expiresAt: number
}

/** Everything is named by its place in the order of its appearance; times are seconds. */
export interface State {
  readonly grants: Readonly<Record<string, Grant>>
  readonly codes: Readonly<Record<number, Credential & { readonly isUsed: boolean }>>
  /** By pair of tokens: its access token, and its refresh token. */
  readonly access: Readonly<Record<number, Credential>>
  readonly refresh: Readonly<Record<number, Credential>>
  /** Applications that are not active. */
  readonly standing: Readonly<Record<number, "suspended" | "ended">>
  /** Subscriptions that are paused. */
  readonly paused: Readonly<Record<number, true>>
  readonly erased: Readonly<Record<number, true>>
  /** By application: the identifier. */
  readonly subscriptions: Readonly<Record<number, number>>
  readonly registrations: Readonly<Record<number, { readonly parties: ReadonlyArray<number>; readonly status: string }>>
  /** By subscription, in order: what is delivered, or was. */
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

export const empty: State = {
  grants: {},
  codes: {},
  access: {},
  refresh: {},
  standing: {},
  paused: {},
  erased: {},
  subscriptions: {},
  registrations: {},
  deliveries: {}
}

/** What must come out, and the state after it: the same one if nothing is saved. */
export interface Prediction {
  readonly result: string
  readonly next: State
}

const codeLifetime = 5 * 60
const accessLifetime = 28_800
const refreshIdle = 90 * 86_400
const replayGrace = 60
const retryWindow = 600
const maxAccessTokens = 20
const maxCodes = 20

export const keyOf = (application: number, user: number): string => `${application}/${user}`

const applicationOf = (key: string): number => Number(key.split("/")[0])

const withGrant = (state: State, key: string, grant: Grant): State => ({
  ...state,
  grants: { ...state.grants, [key]: grant }
})

/** Whether a credential belongs to the present life of its grant. */
const isLive = (state: State, { grant, life }: Credential): boolean => {
  const present = state.grants[grant]
  return present !== undefined && present.isAlive && present.life === life
}

const end = (state: State, key: string): State => {
  const grant = state.grants[key]
  return grant === undefined ? state : withGrant(state, key, { ...grant, isAlive: false })
}

const endAll = (state: State, application: number): State =>
  Object.keys(state.grants).filter((key) => applicationOf(key) === application).reduce(end, state)

/** A new pair. Access tokens above their number end, the oldest first. */
const issue = (state: State, key: string, at: number, pair: number, origin: string): State => {
  const grant = state.grants[key]
  if (grant === undefined) return state
  const token = { grant: key, life: grant.life }
  const all = { ...state.access, [pair]: { ...token, expiresAt: at + accessLifetime } }
  return {
    ...withGrant(state, key, { ...grant, current: pair, previous: grant.current, rotatedAt: at, origin }),
    access: newest(all, key, maxAccessTokens, at),
    refresh: { ...state.refresh, [pair]: { ...token, expiresAt: at + refreshIdle } }
  }
}

/** Without the oldest of a grant that are more than this. */
const newest = <A extends Credential>(
  all: Readonly<Record<number, A>>,
  key: string,
  limit: number,
  at: number
): Readonly<Record<number, A>> => {
  const live = Object.entries(all).filter(([, { expiresAt, grant }]) => grant === key && at < expiresAt)
  const gone = new Set(live.slice(0, Math.max(0, live.length - limit)).map(([place]) => place))
  return gone.size === 0 ? all : Object.fromEntries(Object.entries(all).filter(([place]) => !gone.has(place)))
}

/** Whether the present pair is the answer to an equal request, and may be given once more. */
const repeats = ({ origin, rotatedAt }: Grant, asked: string, key: string, at: number): boolean =>
  key !== "" && origin === asked && at < rotatedAt + retryWindow

/** The same pair as before, or something is wrong (law 1b). */
const repeated = (state: State, { current }: Grant, pair: number): Prediction =>
  pair === current ? { result: "ok", next: state } : { result: "ok, with the tokens of the first answer", next: state }

const enqueue = (state: State, subscription: number, event: string): State => ({
  ...state,
  deliveries: { ...state.deliveries, [subscription]: [...(state.deliveries[subscription] ?? []), event] }
})

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

/** What can be observed of a state without changing it. */
export interface Observation {
  /** Access tokens that are accepted, and refresh tokens that are current. */
  readonly access: ReadonlyArray<number>
  readonly refresh: ReadonlyArray<number>
  /** `application/user` of what users see as authorised. */
  readonly authorized: ReadonlyArray<string>
  readonly subscriptions: Readonly<Record<number, number>>
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

const places = <A>(record: Readonly<Record<number, A>>, isSeen: (value: A, place: number) => boolean) =>
  Object.entries(record).filter(([place, value]) => isSeen(value, Number(place))).map(([place]) => Number(place))

/**
 * Events such as `updated registration 0 status-1`, those about one object together and in their order. Only that order
 * is promised (law 6): two saves at the same time may queue their events in either one.
 */
export const byObject = (events: ReadonlyArray<string>): ReadonlyArray<string> => {
  const objectOf = (event: string) => event.split(" ").slice(1, 3).join(" ")
  return [...events].sort((a, b) => objectOf(a).localeCompare(objectOf(b)))
}

const isAccepted = (state: State, token: Credential): boolean =>
  isLive(state, token) && !state.standing[applicationOf(token.grant)]

/** Whether the events of an application wait (law 14). */
export const isHeld = ({ paused, standing, subscriptions }: State, application: number): boolean =>
  standing[application] !== undefined || paused[subscriptions[application] ?? -1] === true

/** With nobody suspended or paused. */
export const released = (state: State): State => ({
  ...state,
  paused: {},
  standing: Object.fromEntries(Object.entries(state.standing).filter(([, standing]) => standing === "ended"))
})

/** What must be observed in a state at `now`. */
export const observe = (state: State, now: number): Observation => ({
  access: places(state.access, (token) => isAccepted(state, token) && now < token.expiresAt),
  refresh: places(
    state.refresh,
    (token, place) => isAccepted(state, token) && state.grants[token.grant]?.current === place && now < token.expiresAt
  ),
  authorized: Object.keys(state.grants).filter((key) => state.grants[key]?.isAlive).sort(),
  subscriptions: state.subscriptions,
  deliveries: Object.fromEntries(
    Object.entries(state.deliveries).flatMap(([place, events]) => events.length > 0 ? [[place, byObject(events)]] : [])
  )
})

/** The states that agree with something that happened. */
export const step = (states: ReadonlyArray<State>, entry: HistoryEntry): ReadonlyArray<State> =>
  distinct(states.flatMap((state) => {
    const { next, result } = predict(state, entry)
    return entry.result === result ? [next] : []
  }))

/** The states after things that happened at once: every order is tried. */
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

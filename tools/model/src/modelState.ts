/** The state of the model, and its changes of grants. */

export interface Grant {
  readonly isAlive: boolean
  /** Number of consents after revocations. */
  readonly life: number
  /** The pairs of tokens whose refresh tokens are the current one and the one before. */
  readonly current: number | null
  readonly previous: number | null
  readonly rotatedAt: number
  /** The request for which the current pair was issued. */
  readonly origin: string
}

interface Credential {
  readonly grant: string
  readonly life: number
  readonly expiresAt: number
}

/** Records are numbered in the order of their appearance. Times are seconds. */
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
  /** Events of each subscription, in order, delivered ones included. */
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

export const codeLifetime = 5 * 60
const accessLifetime = 28_800
const refreshIdle = 90 * 86_400
export const replayGrace = 60
const retryWindow = 600
const maxAccessTokens = 20
export const maxCodes = 20

export const keyOf = (application: number, user: number): string => `${application}/${user}`

export const applicationOf = (key: string): number => Number(key.split("/")[0])

export const withGrant = (state: State, key: string, grant: Grant): State => ({
  ...state,
  grants: { ...state.grants, [key]: grant }
})

/** Whether a credential belongs to the current life of its grant. */
export const isLive = (state: State, { grant, life }: Credential): boolean => {
  const present = state.grants[grant]
  return present !== undefined && present.isAlive && present.life === life
}

export const end = (state: State, key: string): State => {
  const grant = state.grants[key]
  return grant === undefined ? state : withGrant(state, key, { ...grant, isAlive: false })
}

export const endAll = (state: State, application: number): State =>
  Object.keys(state.grants).filter((key) => applicationOf(key) === application).reduce(end, state)

/** Issues a pair. The oldest access tokens above the maximum number end. */
export const issue = (state: State, key: string, at: number, pair: number, origin: string): State => {
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

/** The newest credentials of a grant, at most this number. */
export const newest = <A extends Credential>(
  all: Readonly<Record<number, A>>,
  key: string,
  limit: number,
  at: number
): Readonly<Record<number, A>> => {
  const live = Object.entries(all).filter(([, { expiresAt, grant }]) => grant === key && at < expiresAt)
  const gone = new Set(live.slice(0, Math.max(0, live.length - limit)).map(([place]) => place))
  return gone.size === 0 ? all : Object.fromEntries(Object.entries(all).filter(([place]) => !gone.has(place)))
}

/** Whether the current pair is the answer to an equal request, and may be issued once more. */
export const repeats = ({ origin, rotatedAt }: Grant, asked: string, key: string, at: number): boolean =>
  key !== "" && origin === asked && at < rotatedAt + retryWindow

export const enqueue = (state: State, subscription: number, event: string): State => ({
  ...state,
  deliveries: { ...state.deliveries, [subscription]: [...(state.deliveries[subscription] ?? []), event] }
})

export const isAccepted = (state: State, token: Credential): boolean =>
  isLive(state, token) && !state.standing[applicationOf(token.grant)]

/** Whether the events of an application wait (law 14). */
export const isHeld = ({ paused, standing, subscriptions }: State, application: number): boolean =>
  standing[application] !== undefined || paused[subscriptions[application] ?? -1] === true

/** The state with nothing suspended or paused. */
export const released = (state: State): State => ({
  ...state,
  paused: {},
  standing: Object.fromEntries(Object.entries(state.standing).filter(([, standing]) => standing === "ended"))
})

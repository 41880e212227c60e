/** Observations that the model predicts. */
import { isAccepted, type State } from "./modelState.ts"

/** The parts of a state that requests can read without changing it. */
export interface Observation {
  /** Access tokens that are accepted, and refresh tokens that are current. */
  readonly access: ReadonlyArray<number>
  readonly refresh: ReadonlyArray<number>
  /** `application/user` of each authorised application. */
  readonly authorized: ReadonlyArray<string>
  readonly subscriptions: Readonly<Record<number, number>>
  /** Subscriptions that are shown as paused. */
  readonly paused: ReadonlyArray<number>
  readonly deliveries: Readonly<Record<number, ReadonlyArray<string>>>
}

const places = <A>(record: Readonly<Record<number, A>>, isSeen: (value: A, place: number) => boolean) =>
  Object.entries(record).filter(([place, value]) => isSeen(value, Number(place))).map(([place]) => Number(place))

/**
 * Events such as `updated registration 0 status-1`, grouped by object, each group in its order. Only that order is
 * promised (law 6): two saves at the same time may queue their events in any order.
 */
export const byObject = (events: ReadonlyArray<string>): ReadonlyArray<string> => {
  const objectOf = (event: string) => event.split(" ").slice(1, 3).join(" ")
  return [...events].sort((a, b) => objectOf(a).localeCompare(objectOf(b)))
}

/** The expected observation of a state at `now`. */
export const observe = (state: State, now: number): Observation => ({
  access: places(state.access, (token) => isAccepted(state, token) && now < token.expiresAt),
  refresh: places(
    state.refresh,
    (token, place) => isAccepted(state, token) && state.grants[token.grant]?.current === place && now < token.expiresAt
  ),
  authorized: Object.keys(state.grants).filter((key) => state.grants[key]?.isAlive).sort(),
  subscriptions: state.subscriptions,
  paused: Object.values(state.subscriptions).filter((place) => state.paused[place]).sort((a, b) => a - b),
  deliveries: Object.fromEntries(
    Object.entries(state.deliveries).flatMap(([place, events]) => events.length > 0 ? [[place, byObject(events)]] : [])
  )
})

/** Observations that the model predicts. */
import * as Grant from "./Grant.ts"
import { applicationOf, type State } from "./Model.ts"

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

/**
 * Events such as `updated registration 0 status-1`, grouped by object, each group in its order. Only that order is
 * promised (law 6): two saves at the same time may queue their events in any order.
 */
export const byObject = (events: ReadonlyArray<string>): ReadonlyArray<string> => {
  const objectOf = (event: string) => event.split(" ").slice(1, 3).join(" ")
  return [...events].sort((a, b) => objectOf(a).localeCompare(objectOf(b)))
}

/** The pairs of tokens of one kind for which this holds, of applications that are active. */
const pairs = (
  { grants, standing }: State,
  kind: "access" | "refresh",
  isSeen: (grant: Grant.Grant, pair: number) => boolean
): ReadonlyArray<number> =>
  Object.entries(grants).filter(([key]) => !standing[applicationOf(key)])
    .flatMap(([, grant]) => Object.keys(grant[kind]).map(Number).filter((pair) => isSeen(grant, pair)))
    .sort((a, b) => a - b)

/** The expected observation of a state at `now`. */
export const observe = (state: State, now: number): Observation => ({
  access: pairs(state, "access", (grant, pair) => Grant.accepts(grant, pair, now)),
  refresh: pairs(state, "refresh", (grant, pair) => Grant.isCurrent(grant, pair, now)),
  authorized: Object.keys(state.grants).filter((key) => state.grants[key]?.isAlive).sort(),
  subscriptions: state.subscriptions,
  paused: Object.values(state.subscriptions).filter((place) => state.paused[place]).sort((a, b) => a - b),
  deliveries: Object.fromEntries(
    Object.entries(state.deliveries).flatMap(([place, events]) => events.length > 0 ? [[place, byObject(events)]] : [])
  )
})

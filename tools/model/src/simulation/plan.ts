/** The operations of a simulation, as data, so that a counterexample can be replayed and shrunk. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { PCGRandom } from "effect/Utils"
import { Fault } from "@startlist/testing/Faults"
import { Behaviour } from "@startlist/testing/ScriptedCallbacks"
import { behaviours, storeFaults } from "./faults.ts"
import * as Programs from "../Operation.ts"
import type { StoreOperation } from "@startlist/testing/Faults"

/** A fault between a caller and the service, or between the service and a receiver. */
export type NetworkFault = "none" | "request lost" | "answer lost" | "duplicated"

/** The moment at which a node dies: before a call, while the call is on its way, or after its answer. */
export type CrashMoment = "before" | "during" | "after"

/** An incident in the system. Numbers choose as in programs. Nodes are numbered from 0. */
export type Incident = Data.TaggedEnum<{
  Purge: {}
  Behave: { readonly application: number; readonly behaviour: Behaviour }
  /** The next `count` events to this application's receiver have this fault. */
  NetworkFault: { readonly application: number; readonly network: NetworkFault; readonly count: number }
  /** The node dies at its `call`th call of a store or a callback from now, `afterMs` after it began. */
  Crash: {
    readonly call: number
    readonly moment: CrashMoment
    readonly afterMs: number
    readonly downMs: number
  }
  /** The node's next calls of this operation (of any, if undefined) have this fault. */
  StoreFault: { readonly operation: StoreOperation | undefined; readonly fault: Fault; readonly count: number }
}>
export const Incident = Data.taggedEnum<Incident>()

export type Operation =
  | Programs.Request
  | Programs.Creation
  | Incident

export interface Step {
  /** Milliseconds since the start. */
  readonly at: number
  /** The node that serves the request, or that has the incident. */
  readonly node: number
  /** Network fault of the caller's request. */
  readonly network: NetworkFault
  readonly operation: Operation
}

export interface Size {
  /** What happens: everything (the default), or only what honest applications do whose users revoke nothing. */
  readonly scenario: "everything" | "stale"
  /** Selects the operations, the faults and all durations. */
  readonly seed: number
  /** Default 3. */
  readonly nodes: number
  /** Default 3. */
  readonly applications: number
  /** Number of users beside the owner of the applications. Default 4: an athlete, an organizer, an athlete, a club. */
  readonly users: number
  /** Default 3. */
  readonly registrations: number
  /** Simulated hours; default 1. */
  readonly hours: number
  /** Steps per simulated hour, on average; default 200. */
  readonly pace: number
  /** Whether clients repeat an exchange or refresh that gets no answer, with the same `Idempotency-Key`. */
  readonly retries: boolean
  /** Frequency of faults, from 0 (none) to 1 (the default). */
  readonly faults: number
}

export const defaultSize = {
  scenario: "everything" as const,
  nodes: 3,
  applications: 3,
  users: 4,
  registrations: 3,
  hours: 1,
  pace: 200,
  retries: true,
  faults: 1
}

/** All steps of a seed, in their order. */
export const make = (size: Size): ReadonlyArray<Step> => {
  const random = new PCGRandom(size.seed)
  const below = (count: number) => random.integer(count)
  const likely = (probability: number) => random.number() < probability
  const pick = <A>(first: A, ...rest: ReadonlyArray<A>): A => [first, ...rest][below(rest.length + 1)] ?? first

  // Most steps concern the same records as the step before: laws break in races.
  let [application, user, registration] = [0, 0, 0]
  const turn = () => {
    if (likely(0.2)) application = below(size.applications)
    if (likely(0.2)) user = below(size.users)
    if (likely(0.2)) registration = below(size.registrations)
  }
  const newest = () => likely(0.75) ? 0 : below(8)
  const key = () => size.retries ? pick("one", "two") : ""
  const store = (): Operation => {
    const [operation, faults] = storeFaults[below(storeFaults.length)] ?? ["GrantStore.save" as const, []]
    return Incident.StoreFault({
      operation: likely(0.1) ? undefined : operation,
      fault: faults[below(faults.length)] ?? Fault.FailsBefore(),
      count: likely(0.2) ? 1 + below(12) : 1
    })
  }
  const crash = (): Operation =>
    Incident.Crash({
      call: 1 + below(8),
      moment: pick("before", "during", "after"),
      afterMs: below(4),
      downMs: 1 + below(60_000)
    })
  const receiver = (): Operation =>
    Incident.Behave({
      application,
      behaviour: likely(0.4) ? Behaviour.Comply({}) : pick(Behaviour.Comply({}), ...behaviours)
    })
  const networkFault = (): Operation =>
    Incident.NetworkFault({
      application,
      network: pick("request lost", "answer lost", "duplicated"),
      count: 1 + below(3)
    })
  const change = (one: number): Operation => ({ _tag: "ChangeStatus", registration: one, status: below(1000) })
  const fault = (): Operation => pick<() => Operation>(store, store, crash, receiver, networkFault)()
  const business: ReadonlyArray<readonly [weight: number, () => Operation]> = [
    [12, () => ({ _tag: "Consent", application, user, pkce: likely(0.3) })],
    [
      3,
      () => ({ _tag: "Redeem", code: newest(), key: key(), slip: pick("none", "client", "verifier", "redirect") })
    ],
    [18, () => ({ _tag: "Refresh", token: newest(), key: key(), stolen: likely(0.05) })],
    [8, () => ({ _tag: "Call", token: newest() })],
    [3, () => ({ _tag: "Revoke", by: pick("access", "refresh"), token: newest(), stolen: likely(0.1) })],
    [5, () => ({ _tag: "RevokeByUser", code: newest() })],
    [7, () => ({ _tag: "Subscribe", application, callback: "right" })],
    [3, () => ({ _tag: "Unsubscribe", application })],
    [24, () => change(registration)],
    [2, () => ({ _tag: "Redeliver", delivery: below(20) })],
    [2, () => ({ _tag: "SetState", application, state: "suspended" })],
    [4, () => ({ _tag: "SetState", application, state: "active" })],
    [2, () => ({ _tag: "SetPaused", application, paused: true })],
    [4, () => ({ _tag: "SetPaused", application, paused: false })],
    [1, () => ({ _tag: "RevokeAll", application })],
    [1, () => ({ _tag: "End", application })],
    [1, () => ({ _tag: "Erase", user })],
    [1, () => Incident.Purge()]
  ]
  const weights = business.reduce((sum, [weight]) => sum + weight, 0)
  const operation = (): Operation => {
    turn()
    let left = below(weights)
    for (const [weight, next] of business) if ((left -= weight) < 0) return next()
    return Incident.Purge()
  }

  const steps: Array<Step> = []
  const add = (at: number, node: number, operation: Operation, network: NetworkFault = "none") =>
    void steps.push({ at, node, network, operation })
  const end = size.hours * 3_600_000
  let at = 0
  /** A consent, and the exchange of its code when it has probably arrived. */
  const connect = (one: { readonly application: number; readonly user: number }, node: number) => {
    add(at += 50, node, { _tag: "Consent", ...one, pkce: likely(0.3) })
    add(at += 50, node, { _tag: "Redeem", code: 0, key: key(), slip: "none" })
  }
  for (let each = 0; each < size.applications && end > 0; each++) {
    add(at += 50, each % size.nodes, { _tag: "Subscribe", application: each, callback: "right" })
    for (const user of [0, (each + 1) % size.users]) connect({ application: each, user }, each % size.nodes)
  }
  // The mean of a long pause is half of it, and one pause in four is long.
  const quiet = 8 * 3_600_000 / size.pace
  while ((at += likely(0.75) ? below(pick(4, 40, 2_500)) : below(quiet)) < end) {
    const network = likely(0.08 * size.faults)
      ? pick<NetworkFault>("request lost", "answer lost", "duplicated")
      : "none"
    const node = below(size.nodes)
    const isFault = likely(0.25 * size.faults)
    const next = isFault ? fault() : operation()
    add(at, node, next, isFault ? "none" : network)
    // Several refreshes at the same time race.
    const times = next._tag === "Refresh" && likely(0.3) ? 1 + below(2) : 0
    for (let other = 1; other <= times; other++) add(at, (node + other) % size.nodes, next)
    if (next._tag === "Consent" && likely(0.8)) {
      add(at += 40 + below(20), node, { _tag: "Redeem", code: 0, key: key(), slip: "none" }, network)
    }
    // A new user replaces an erased one.
    if (next._tag === "Erase") add(at, node, { _tag: "CreateUser", role: pick("athlete", "organizer", "club") })
    if (next._tag === "End") {
      add(at, node, { _tag: "CreateApplication" })
      add(at += 50, node, { _tag: "Subscribe", application: 0, callback: "right" })
      connect({ application: 0, user }, node)
    }
    if (next._tag === "StoreFault" && next.operation?.startsWith("DeliveryQueue.") === true) {
      if (likely(0.4)) add(at, node, receiver())
      // Any of the nodes may make the next claim.
      for (let other = 0; other < size.nodes && likely(0.8); other++) if (other !== node) add(at, other, next)
      for (let count = 1 + below(3); count > 0; count--) add(at += below(100), node, change(registration))
      // Wake the other nodes when the leases of this node have ended.
      for (const after of [15_200, 17_500, 22_000]) {
        if (likely(0.6)) add(at + after, node, change(0))
      }
    }
  }
  return steps.sort((one, other) => one.at - other.at)
}

const text = (value: unknown): string => {
  if (Duration.isDuration(value)) return Duration.format(value)
  if (!Predicate.isRecord(value)) return String(value ?? "any")
  const { _tag, ...fields } = value
  return [String(_tag), ...Object.entries(fields).map(([key, field]) => `${key} ${text(field)}`)].join(" ")
}

/** A step as text, for example `Refresh application 0 user 2 times 1 at node 1`. */
export const describe = ({ network, node, operation }: Step): string =>
  `${text(operation)} at node ${node}${network === "none" ? "" : ` (${network})`}`

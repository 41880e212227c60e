/** The operations of a simulation, as data, so that a counterexample can be replayed and shrunk. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { PCGRandom } from "effect/Utils"
import { Fault } from "../../Faults.ts"
import type { StoreOperation } from "../../Interception.ts"

/** What a receiver does with what it is sent. */
export const behaviours = [
  "answers",
  "answers at the last moment",
  "answers too late",
  "hangs",
  "is gone",
  "fails",
  "asks to wait",
  "wavers",
  "says 204",
  "redirects",
  "answers another challenge"
] as const
export type Behaviour = typeof behaviours[number]

/** What happens on the way between a caller and the service, or between the service and a receiver. */
export type NetworkFault = "none" | "request lost" | "answer lost" | "duplicated"

/** The grant that an operation is about. */
export interface Of {
  readonly application: number
  readonly user: number
}

/** One thing that is done. Applications, users, registrations and nodes are counted from 0. */
export type Operation = Data.TaggedEnum<{
  Consent: Of
  Exchange: Of & { readonly how: "properly" | "again" | "as another" | "without the verifier" | "to another address" }
  Refresh: Of & { readonly times: number }
  /** Presents an older refresh token. */
  Replay: Of & { readonly back: number }
  /** Uses an access token, the newest or an older one. */
  Call: Of & { readonly back: number }
  RevokeByApplication: Of & { readonly back: number }
  RevokeByUser: Of
  Subscribe: { readonly application: number }
  Unsubscribe: { readonly application: number }
  Change: { readonly registration: number }
  Redeliver: { readonly application: number }
  Purge: {}
  Behave: { readonly application: number; readonly behaviour: Behaviour }
  /** The next events to this application's receiver meet this on their way. */
  NetworkFault: { readonly application: number; readonly network: NetworkFault; readonly count: number }
  /** The node dies before or after its `call`th call of a store or a callback from now, and comes back later. */
  Crash: { readonly call: number; readonly moment: "before" | "after"; readonly downMs: number }
  /** The node's next call of this operation (of any, if none) goes wrong. */
  StoreFault: { readonly operation: StoreOperation | undefined; readonly fault: Fault; readonly count: number }
}>
export const Operation = Data.taggedEnum<Operation>()

export interface Step {
  /** Milliseconds since the beginning. */
  readonly at: number
  /** The node that serves it, or that it befalls. */
  readonly node: number
  /** How the caller's request fares. */
  readonly network: NetworkFault
  readonly operation: Operation
}

export interface Size {
  /** Names the run: which operations, which faults, how long everything takes. */
  readonly seed: number
  /** Default 3. */
  readonly nodes: number
  /** Default 3. */
  readonly applications: number
  /** Default 4: an athlete, an organizer, an athlete, a club. */
  readonly users: number
  /** Default 3. */
  readonly registrations: number
  /** Simulated hours; default 1. */
  readonly hours: number
  /** Steps per simulated hour, on average; default 200. */
  readonly pace: number
  /** How often a step is a fault, from 0 (never) to 1, the default. */
  readonly faults: number
}

export const defaultSize = { nodes: 3, applications: 3, users: 4, registrations: 3, hours: 1, pace: 200, faults: 1 }

const later = (...millis: ReadonlyArray<number>) => millis.map((by) => Duration.millis(by))

/** What goes wrong where, as it hurts most: about as long as leases, timeouts and retries last. */
const storeFaults: ReadonlyArray<readonly [StoreOperation, ReadonlyArray<Fault>]> = [
  ["GrantStore.find", [Fault.FailsBefore(), ...later(50, 3_000).map((by) => Fault.AnswersLate({ by }))]],
  ...(["GrantStore.save", "RegistrationStore.save", "SubscriptionStore.insert", "SubscriptionStore.remove"] as const)
    .map((operation) =>
      [operation, [
        Fault.FailsBefore(),
        Fault.FailsAfter(),
        Fault.Repeats(),
        Fault.Conflicts(),
        ...later(20, 3_000).map((by) => Fault.Slow({ by })),
        ...later(20, 3_000, 40_000).map((by) => Fault.WritesLate({ by }))
      ]] as const
    ),
  ["DeliveryQueue.claim", [
    Fault.FailsBefore(),
    Fault.FailsAfter(),
    Fault.Repeats(),
    ...later(3_000, 12_500, 13_500, 16_000, 19_000).map((by) => Fault.AnswersLate({ by }))
  ]],
  ["DeliveryQueue.settle", [
    Fault.FailsBefore(),
    Fault.FailsAfter(),
    Fault.Repeats(),
    ...later(3_000, 17_000, 19_000, 25_000, 40_000).map((by) => Fault.WritesLate({ by }))
  ]]
]

/** All steps of a seed, in their order. */
export const make = (size: Size): ReadonlyArray<Step> => {
  const random = new PCGRandom(size.seed)
  const below = (count: number) => random.integer(count)
  const likely = (probability: number) => random.number() < probability
  const pick = <A>(first: A, ...rest: ReadonlyArray<A>): A => [first, ...rest][below(rest.length + 1)] ?? first

  // What is done next is mostly about the same: laws break when things meet.
  let [application, user, registration] = [0, 0, 0]
  const turn = () => {
    if (likely(0.2)) application = below(size.applications)
    if (likely(0.2)) user = below(size.users)
    if (likely(0.2)) registration = below(size.registrations)
  }
  const of = () => ({ application, user })
  const store = (): Operation => {
    const [operation, faults] = storeFaults[below(storeFaults.length)] ?? ["GrantStore.save" as const, []]
    return Operation.StoreFault({
      operation: likely(0.1) ? undefined : operation,
      fault: faults[below(faults.length)] ?? Fault.FailsBefore(),
      count: likely(0.2) ? 1 + below(12) : 1
    })
  }
  const crash = (): Operation =>
    Operation.Crash({ call: 1 + below(8), moment: pick("before", "after"), downMs: 1 + below(60_000) })
  const receiver = (): Operation =>
    Operation.Behave({ application, behaviour: likely(0.4) ? "answers" : pick("answers", ...behaviours) })
  const networkFault = (): Operation =>
    Operation.NetworkFault({
      application,
      network: pick("request lost", "answer lost", "duplicated"),
      count: 1 + below(3)
    })
  const fault = (): Operation => pick<() => Operation>(store, store, crash, receiver, networkFault)()
  const business: ReadonlyArray<readonly [weight: number, () => Operation]> = [
    [8, () => Operation.Consent(of())],
    [12, () => Operation.Exchange({ ...of(), how: "properly" })],
    [
      3,
      () =>
        Operation.Exchange({ ...of(), how: pick("again", "as another", "without the verifier", "to another address") })
    ],
    [14, () => Operation.Refresh({ ...of(), times: likely(0.3) ? 2 + below(2) : 1 })],
    [2, () => Operation.Replay({ ...of(), back: 1 + below(3) })],
    [8, () => Operation.Call({ ...of(), back: likely(0.7) ? 0 : below(4) })],
    [3, () => Operation.RevokeByApplication({ ...of(), back: below(2) })],
    [5, () => Operation.RevokeByUser(of())],
    [7, () => Operation.Subscribe({ application })],
    [3, () => Operation.Unsubscribe({ application })],
    [24, () => Operation.Change({ registration })],
    [2, () => Operation.Redeliver({ application })],
    [1, () => Operation.Purge()]
  ]
  const weights = business.reduce((sum, [weight]) => sum + weight, 0)
  const operation = (): Operation => {
    turn()
    let left = below(weights)
    for (const [weight, next] of business) if ((left -= weight) < 0) return next()
    return Operation.Purge()
  }

  const steps: Array<Step> = []
  const add = (at: number, node: number, operation: Operation, network: NetworkFault = "none") =>
    void steps.push({ at, node, network, operation })
  const end = size.hours * 3_600_000
  let at = 0
  for (let each = 0; each < size.applications && end > 0; each++) {
    add(at += 50, each % size.nodes, Operation.Subscribe({ application: each }))
    for (const one of [{ application: each, user: 0 }, { application: each, user: (each + 1) % size.users }]) {
      add(at += 50, each % size.nodes, Operation.Consent(one))
      add(at += 50, each % size.nodes, Operation.Exchange({ ...one, how: "properly" }))
    }
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
    // A code is mostly exchanged at once, and what storeFaults the queue meets some events.
    if (next._tag === "Consent" && likely(0.8)) {
      add(at += 10 + below(20), node, Operation.Exchange({ ...of(), how: "properly" }), network)
    }
    if (next._tag === "StoreFault" && next.operation?.startsWith("DeliveryQueue.") === true) {
      if (likely(0.4)) add(at, node, receiver())
      // Whichever node it is that claims next.
      for (let other = 0; other < size.nodes && likely(0.8); other++) if (other !== node) add(at, other, next)
      for (let count = 1 + below(3); count > 0; count--) add(at += below(100), node, Operation.Change({ registration }))
      // Something wakes the others when the leases of these are over.
      for (const after of [15_200, 17_500, 22_000]) {
        if (likely(0.6)) add(at + after, node, Operation.Change({ registration: 0 }))
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

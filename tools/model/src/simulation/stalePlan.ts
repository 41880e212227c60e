/**
 * The plan of honest applications, whose users revoke nothing: workers with old tokens, lost answers, reloaded callback
 * pages, and several connections of one user, on nodes that crash. Nobody may be signed out (law 1c). Every request has an
 * `Idempotency-Key`: without one, a lost answer costs a new consent.
 */
import { PCGRandom } from "effect/Utils"
import { Fault } from "@startlist/testing/Faults"
import { Incident, type NetworkFault, type Operation, type Size, type Step } from "./plan.ts"

/** Number of refresh tokens that the workers of an application may still have. */
const workers = 6

/** All steps of a seed, in their order. */
export const make = (size: Size): ReadonlyArray<Step> => {
  const random = new PCGRandom(size.seed)
  const below = (count: number) => random.integer(count)
  const likely = (probability: number) => random.number() < probability
  const pick = <A>(first: A, ...rest: ReadonlyArray<A>): A => [first, ...rest][below(rest.length + 1)] ?? first

  const steps: Array<Step> = []
  const add = (at: number, operation: Operation, network: NetworkFault = "none") =>
    void steps.push({ at, node: below(size.nodes), network, operation })
  const network = () =>
    likely(0.25 * size.faults) ? pick<NetworkFault>("request lost", "answer lost", "duplicated") : "none"
  const redeem = (code: number, key: "one" | "two"): Operation => ({ _tag: "Redeem", code, key, slip: "none" })
  let at = 0
  const connect = (application: number, user: number) => {
    add(at += 50, { _tag: "Consent", application, user, pkce: likely(0.3) })
    add(at += 50, redeem(0, "one"), network())
    // A browser loads the callback page again, with the session of the first time or with another one.
    if (likely(0.4)) add(at + below(90_000), redeem(below(2), pick("one", "two")), network())
  }
  const refresh = (token: number): Operation => ({
    _tag: "Refresh",
    token,
    key: pick("one", "one", "two"),
    stolen: false
  })
  const fault = () =>
    pick<() => Operation>(
      () =>
        Incident.Crash({
          call: 1 + below(8),
          moment: pick("before", "during", "after"),
          afterMs: below(4),
          downMs: 20_000
        }),
      () =>
        Incident.StoreFault({
          operation: pick("GrantStore.save", "GrantStore.find"),
          fault: pick<Fault>(Fault.FailsBefore(), Fault.FailsAfter(), Fault.Repeats(), Fault.Slow({ by: "3 seconds" })),
          count: 1
        })
    )()

  for (let application = 0; application < size.applications; application++) {
    for (let user = 0; user < size.users; user++) connect(application, user)
  }
  const end = size.hours * 3_600_000
  while ((at += below(pick(40, 2_500, 62_000, 130_000, 700_000))) < end) {
    if (likely(0.15 * size.faults)) add(at, fault())
    if (likely(0.15)) connect(below(size.applications), below(size.users))
    // Workers that have the latest token, and some that do not, refresh at the same time.
    for (let count = 1 + below(3); count > 0; count--) {
      add(at + below(4), refresh(likely(0.5) ? 0 : below(workers)), network())
    }
  }
  return steps.sort((one, other) => one.at - other.at)
}

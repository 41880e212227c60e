/** Costs of the hot paths as the data grows. */
import * as Contender from "../Contender.ts"
import * as Grants from "../Grants.ts"
import type { Effort } from "../Measurement.ts"
import { connections } from "../Protocol.ts"
import { compare, count, type Goal, type Scenario, type Table } from "../Scenario.ts"
import * as Subscriptions from "../Subscriptions.ts"
import { subscriptions } from "../workers/Delivering.ts"

/** The goal for the largest size: at least 1/1.2 of the rate of the smallest. */
const flat = (smallest: string): Goal => ({ than: smallest, atLeast: 0.83 })

/** Compares sizes of one database, each created once. The goal compares the largest with the smallest. */
const grow = async (
  title: string,
  sizes: ReadonlyArray<number>,
  work: (size: number) => Omit<Contender.Work, "name" | "role">,
  of: string,
  effort: Effort
): Promise<Table> => {
  const nameOf = (size: number) => `${count(size)} ${of}`
  const largestFirst = [...sizes].sort((a, b) => b - a)
  return await Contender.working(
    largestFirst.map((size, index) => ({
      name: nameOf(size),
      role: index === 0 ? "ours" : "peer",
      ...work(size)
    })),
    (contenders) =>
      compare({ title, contenders, goals: [flat(nameOf(Math.min(...sizes)))], ratio: "the first is" }, effort)
  )
}

export const growth: Scenario = {
  name: "growth",
  title: "Cost as it grows, on PostgreSQL",
  about: `
The stores, without HTTP, over more and more of what they keep, loaded in bulk. Refreshes and bearer checks are of random
grants, by ${connections} callers. The queue has ${subscriptions} subscriptions; a batch is claimed and put back behind the others,
so that it stays as long as it is. The goal is that the largest is as fast as the smallest, within 1.2 times.
`,
  run: async (effort) => {
    const grants = effort.isQuick ? [1e3, 1e5] : [1e3, 1e4, 1e5, 1e6]
    const pending = effort.isQuick ? [1e3, 1e5] : [1e3, 1e4, 1e5, 1e6]
    const ended = effort.isQuick ? [1e3, 1e6] : [1e3, 1e5, 1e7]
    const stores = (what: string) => (size: number) => ({
      program: "Stores",
      args: [what, String(connections), String(size)],
      prepare: Grants.fill(size)
    })
    const queue = (what: string, queued: (size: number) => Subscriptions.Queue) => (size: number) => ({
      program: "Claiming",
      args: [what],
      prepare: Subscriptions.fill(1, subscriptions, queued(size))
    })
    const patient = { ...effort, warmUpCalls: 200 }
    return [
      await grow("Refreshing any of the grants", grants, stores("refresh"), "grants", effort),
      await grow("Checking a bearer of any of the grants", grants, stores("bearer"), "grants", effort),
      await grow(
        "Claiming and settling deliveries",
        pending,
        queue("claim", (size) => ({ ...Subscriptions.usual, pending: size })),
        "pending",
        patient
      ),
      await grow(
        "Claiming and settling among the history",
        ended,
        queue("claim", (size) => ({ ended: size, pending: 10_000 })),
        "attempts in the past",
        patient
      ),
      await grow(
        "Listing the newest 50 deliveries of an application",
        ended,
        queue("list", (size) => ({ ended: size, pending: 10_000 })),
        "attempts in the past",
        patient
      )
    ]
  }
}

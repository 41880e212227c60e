/** A status change, and the deliveries that are saved with it. */
import * as Contender from "../Contender.ts"
import { compare, type Scenario, type Table } from "../Scenario.ts"
import * as Subscriptions from "../Subscriptions.ts"

const callers = 16

const contenders = (subscriptions: number) => {
  const args = [String(callers), String(subscriptions)]
  const prepare = Subscriptions.fill(callers, subscriptions, Subscriptions.usual)
  return [
    Contender.work({ name: "Startlist", role: "ours", program: "Changing", args, prepare }),
    Contender.work({
      name: "the bare insert",
      role: "limit",
      program: "Changing",
      args: [...args, "insert"],
      prepare
    })
  ]
}

export const fanout: Scenario = {
  name: "fanout",
  title: "A status change and its fan-out, on PostgreSQL",
  about: `
${callers} callers change the status of a registration each, through the service of the core: found, decided, saved with the event
and one delivery for every subscription that it concerns. The limit inserts the same event and the same delivery rows, by a
prepared statement that looks nothing up, locks nothing and changes no registration. Nothing is delivered during the
measurement. So each delivery waits behind earlier ones of its registration, in the limit too.
`,
  run: async (effort) => {
    const tables: Array<Table> = []
    for (const subscriptions of [1, 10, 100]) {
      tables.push(
        await compare({
          title: `Changes concerning ${subscriptions} ${subscriptions === 1 ? "subscription" : "subscriptions"}`,
          contenders: contenders(subscriptions),
          goals: [{ than: "the bare insert", atLeast: 0.75 }]
        }, { ...effort, warmUpCalls: subscriptions === 100 ? 500 : 5000 })
      )
    }
    return tables
  }
}

/** The service with a short lease, and a resolver that crashes the process at one name while `LETHAL` is set. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { decode } from "@startlist/node/settings/Configuration"
import * as Service from "@startlist/node/Service"
import { Duration, Effect } from "effect"
import { promises as dns } from "node:dns"

const lethal = process.env["LETHAL"]

const resolve4 = (name: string) => {
  if (name === lethal) {
    setImmediate(() => {
      throw new Error("a bug in an event of the dispatcher")
    })
  }
  return Promise.resolve(["127.0.0.1"])
}

class Resolver extends dns.Resolver {
  constructor() {
    super()
    Object.assign(this, { resolve4, resolve6: () => Promise.resolve([]) })
  }
}
Object.defineProperty(dns, "Resolver", { value: Resolver })

const deliveryLease = Duration.millis(Number(process.env["LEASE_MILLIS"]))

NodeRuntime.runMain(Effect.flatMap(
  decode(process.env, false),
  (configuration) => Service.run({ ...configuration, policy: { ...configuration.policy, deliveryLease } })
))

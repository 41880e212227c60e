/** The service with the name server of the test. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { decode } from "@startlist/node/settings/Configuration"
import * as Service from "@startlist/node/Service"
import { Effect } from "effect"
import { promises as dns } from "node:dns"

const servers = [process.env["NAME_SERVER"] ?? ""]

class Resolver extends dns.Resolver {
  constructor(...options: ConstructorParameters<typeof dns.Resolver>) {
    super(...options)
    this.setServers(servers)
    // Those of this machine do not replace them.
    Object.assign(this, { setServers: () => {} })
  }
}
Object.defineProperty(dns, "Resolver", { value: Resolver })

NodeRuntime.runMain(Effect.flatMap(decode(process.env, false), Service.run))

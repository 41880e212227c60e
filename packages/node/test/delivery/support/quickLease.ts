/** The service as its environment says, with a shorter lease than the policy's, so that a takeover is seen sooner. */
import { decode } from "@startlist/node/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Duration, Effect } from "effect"

const deliveryLease = Duration.millis(Number(process.env["LEASE_MILLIS"]))

const program = Effect.flatMap(
  decode(process.env, false),
  (configuration) => Service.run({ ...configuration, policy: { ...configuration.policy, deliveryLease } })
)

NodeRuntime.runMain(program)

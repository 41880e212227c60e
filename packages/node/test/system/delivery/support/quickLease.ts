/** The service as its environment says, with a shorter lease than the policy's, so that a takeover is seen sooner. */
import { decode } from "@startlist/node/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Duration, Effect } from "effect"

const deliveryLease = Duration.millis(Number(process.env["LEASE_MILLIS"]))

const program = Effect.flatMap(
  decode(process.env, false),
  (configuration) => {
    const { policy } = configuration
    // As long as with the policy's lease: kills as frequent as in these tests must not set anything aside.
    const deliveryClaims = Math.ceil(
      policy.deliveryClaims * Duration.toMillis(policy.deliveryLease) / Duration.toMillis(deliveryLease)
    )
    return Service.run({ ...configuration, policy: { ...policy, deliveryClaims, deliveryLease } })
  }
)

NodeRuntime.runMain(program)

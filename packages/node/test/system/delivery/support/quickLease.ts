/** The service with a shorter lease, so that another worker takes over sooner. */
import { decode } from "@startlist/node/settings/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Duration, Effect } from "effect"

const deliveryLease = Duration.millis(Number(process.env["LEASE_MILLIS"]))

const program = Effect.flatMap(
  decode(process.env, false),
  (configuration) => {
    const { policy } = configuration
    // The policy's value: the frequent kills in these tests must not set deliveries aside.
    const deliveryClaims = Math.ceil(
      policy.deliveryClaims * Duration.toMillis(policy.deliveryLease) / Duration.toMillis(deliveryLease)
    )
    return Service.run({ ...configuration, policy: { ...policy, deliveryClaims, deliveryLease } })
  }
)

NodeRuntime.runMain(program)

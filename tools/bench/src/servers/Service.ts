/**
 * The service with the settings of the environment and a short retention, which no setting allows. Arguments: seconds
 * for which ended deliveries are stored, and seconds between two purges.
 */
// The rule is for packages that others install. No setting of the program makes the retention shorter than a day.
// oxlint-disable-next-line no-restricted-imports
import * as Configuration from "@startlist/node/settings/Configuration"
// oxlint-disable-next-line no-restricted-imports
import * as Service from "@startlist/node/Service"
import { Duration, Effect } from "effect"
import * as Child from "../Child.ts"

const [, , retention, interval] = process.argv

const program = Effect.gen(function*() {
  const configuration = yield* Configuration.current
  const policy = {
    ...configuration.policy,
    deliveryRetention: Duration.seconds(Number(retention)),
    purgeInterval: Duration.seconds(Number(interval))
  }
  return yield* Service.run(
    { ...configuration, policy },
    (url) => Effect.sync(() => Child.ready({ port: Number(new URL(url).port) }))
  )
})

Effect.runFork(Effect.tapErrorCause(program, Effect.logError))

/** The faults of a simulation. */
import * as Duration from "effect/Duration"
import { Fault } from "@startlist/testing/Faults"
import type { StoreOperation } from "@startlist/testing/Faults"
import { Behaviour } from "@startlist/testing/ScriptedCallbacks"

/** Behaviours of receivers, apart from complying. */
export const behaviours: ReadonlyArray<Behaviour> = [
  Behaviour.Comply({ afterMs: 1_850 }),
  Behaviour.Comply({ afterMs: 2_500 }),
  Behaviour.Hang(),
  Behaviour.Refuse(),
  Behaviour.Reject({ status: 500 }),
  Behaviour.Reject({ status: 503, retryAfter: 90 }),
  Behaviour.Reject({ status: 204 }),
  Behaviour.Reject({ status: 302 }),
  Behaviour.Say({ body: "{\"hub.challenge\":\"another\"}" })
]

const later = (...millis: ReadonlyArray<number>) => millis.map((by) => Duration.millis(by))

/** Faults of each operation. Durations are near those of leases, timeouts and retries. */
export const storeFaults: ReadonlyArray<readonly [StoreOperation, ReadonlyArray<Fault>]> = [
  ["GrantStore.find", [Fault.FailsBefore(), ...later(50, 3_000).map((by) => Fault.AnswersLate({ by }))]],
  ...([
    "GrantStore.save",
    "RegistrationStore.save",
    "SubscriptionStore.insert",
    "SubscriptionStore.remove",
    "ApplicationStore.save"
  ] as const)
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

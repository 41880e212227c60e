/** `startlist doctor`: looks at everything that a start and a delivery need, and says what it finds, line by line. */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Answer, Callbacks } from "@startlist/core/Callbacks"
import { Policy } from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import { Database as SqlDatabase } from "@startlist/postgres/Database"
import { type Configuration, origin } from "./Configuration.ts"
import * as Database from "./Database.ts"
import * as Keys from "./Keys.ts"
import { CommandFailed } from "./OperatorClient.ts"

/** What was looked at, whether it is good, and what was seen. */
interface Finding {
  readonly what: string
  readonly isGood: boolean
  readonly seen: string
}

const good = (what: string, seen: string): Finding => ({ what, isGood: true, seen })
const bad = (what: string, seen: string): Finding => ({ what, isGood: false, seen })

/** A clock that is further away from the database's than that makes tokens and leases end at different times. */
const tolerance = Duration.seconds(1)

const isServing = (configuration: Configuration) =>
  Effect.tryPromise((signal) =>
    fetch(`${origin(configuration.host, configuration.port)}/readyz`, { signal }).then(({ ok }) => ok)
  ).pipe(Effect.timeout("3 seconds"), Effect.orElseSucceed(() => false))

const databaseNow = Effect.flatMap(SqlDatabase, ({ query }) =>
  query<{ readonly now: number }>(
    {
      name: "startlist_doctor_clock",
      text: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now"
    },
    []
  ))

const checkClock = Effect.gen(function*() {
  const before = yield* Clock.currentTimeMillis
  const [row] = yield* databaseNow
  const after = yield* Clock.currentTimeMillis
  const apart = Math.round(Math.max(0, before - (row?.now ?? 0), (row?.now ?? 0) - after))
  const seen = `${apart} ms apart from the database's`
  return apart <= Duration.toMillis(tolerance) ? good("clock", seen) : bad("clock", seen)
})

const checkDatabase = (configuration: Configuration, keys: Keys.Keys) =>
  Effect.gen(function*() {
    const { check, description } = yield* Database.Database
    yield* check
    return [good("database", `${description} answers, its tables are up to date`), yield* checkClock]
  }).pipe(
    Effect.provide(Database.layer(configuration, keys)),
    Effect.catchAll((error) =>
      Effect.map(isServing(configuration), (serving) =>
        serving && error.message.includes("in use by another process")
          ? [good("database", `embedded in ${configuration.dataDir}, in use by the service, which is ready`)]
          : [bad("database", error.message)])
    )
  )

const describeAnswer = Answer.$match({
  Answered: ({ afterMs, status }) => good("callback", `answered with ${status} after ${Math.round(afterMs)} ms`),
  TimedOut: () => bad("callback", "did not answer in time"),
  Unreachable: ({ detail }) => bad("callback", `cannot be reached: ${detail}`),
  Forbidden: ({ detail }) => bad("callback", `is not called, see CALLBACK_ALLOW: ${detail}`)
})

/** Sends one validation request, with a challenge that is not used for anything. */
const checkCallback = (url: string) =>
  Effect.gen(function*() {
    const callbacks = yield* Callbacks
    const { callbackTimeout: timeout } = yield* Policy
    if (!callbacks.accepts(url)) return bad("callback", "must be https, or http within CALLBACK_ALLOW")
    const challenge = Redacted.value(yield* (yield* Secrets).make("challenge"))
    const verifyToken = Redacted.make("startlist-doctor")
    return describeAnswer(yield* callbacks.validate({ callbackUrl: url, challenge, verifyToken, timeout }))
  })

const layerCallbacks = ({ callbackAllow, policy }: Configuration) =>
  Layer.mergeAll(
    Dispatcher.layerWith({ allow: callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr))) }),
    NodeSecrets.layer,
    Layer.succeed(Policy, policy)
  )

const reach = ({ callbackAllow }: Configuration): string =>
  ["the public internet by https", ...callbackAllow].join(", ")

/** Looks at configuration, keys, database, clock, and at a callback if one is given; fails if anything is wrong. */
export const examine = (configuration: Configuration, callback: Option.Option<string>) =>
  Effect.gen(function*() {
    const keys = yield* Keys.load(configuration)
    const findings = [
      good("configuration", `listens on ${origin(configuration.host, configuration.port)}`),
      ...(yield* checkDatabase(configuration, keys)),
      good("callbacks", `may be at ${reach(configuration)}`),
      ...(Option.isSome(callback)
        ? [yield* Effect.provide(checkCallback(callback.value), layerCallbacks(configuration))]
        : [])
    ]
    yield* Effect.forEach(findings, ({ isGood, seen, what }) =>
      Console.log(`${isGood ? "ok  " : "FAIL"}  ${what}: ${seen}`))
    const [first, ...others] = findings.filter(({ isGood }) =>
      !isGood
    )
    if (first === undefined) return
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`
    yield* new CommandFailed({ message: `${first.what}: ${first.seen}${more}` })
  })

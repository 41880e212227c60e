/** A service process in each profile. */
import { Context, Effect, Layer, Schedule } from "effect"
import { freePort } from "@startlist/test-support/FreePort"
import { type Environment, makeService, type Service } from "@startlist/test-support/ServiceProcess"

export const profiles = ["documented", "rfc"] as const

export type Profile = typeof profiles[number]

export type { Service }

export type Running = Readonly<Record<Profile, Service>>

/** One process for each profile, for all tests of a file. */
export class Sites extends Context.Tag("@startlist/conformance/test/Sites")<Sites, Running>() {}

/** The issuer needs the port before the start. If another process takes it first, another port is drawn. */
const onFreePort = (environment: (url: string) => Environment) =>
  Effect.gen(function*() {
    const port = yield* Effect.promise(freePort)
    return yield* makeService({ PORT: String(port), ...environment(`http://127.0.0.1:${port}`) })
  }).pipe(Effect.sandbox, Effect.retry({ times: 3, schedule: Schedule.forever }), Effect.unsandbox)

/** Both profiles. `environment` gets the address at which the service will listen. */
export const layer = (environment: (url: string, profile: Profile) => Environment): Layer.Layer<Sites> =>
  Layer.scoped(
    Sites,
    Effect.all({
      documented: onFreePort((url) => ({ PROFILE: "documented", ...environment(url, "documented") })),
      rfc: onFreePort((url) => ({ PROFILE: "rfc", ...environment(url, "rfc") }))
    }, { concurrency: 2 })
  )

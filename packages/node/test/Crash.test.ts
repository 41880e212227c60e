/** What was answered is kept, whatever dies: the service is killed under load, again and again. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { installation, makeDatabase } from "./support/Nodes.ts"
import { makeReceiver } from "./support/Receiver.ts"
import { type Environment, type Service, startService, temporaryFolder } from "./support/ServiceProcess.ts"
import { brew } from "./support/Storm.ts"

/** Kills a service so many times under load, after a few or some more answered requests each time. */
const killAgainAndAgain = (environment: Environment & { readonly DATA_DIR: string }, times: number) =>
  Effect.gen(function*() {
    const receiver = yield* makeReceiver
    const running = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const service = await startService(environment)
        return { service: Promise.resolve(service) }
      }),
      ({ service }) => Effect.promise(() => service.then((last) => last.stop("SIGKILL")))
    )
    return yield* Effect.promise(async () => {
      const storm = await brew(() => running.service, receiver, { writers: 8, chains: 8 })
      const restart = async (service: Service): Promise<Service> => {
        await service.stop("SIGKILL")
        return await startService(environment)
      }
      for (let kill = 1; kill <= times; kill++) {
        await storm.progress(1 + (kill * 7) % 20)
        running.service = restart(await running.service)
        await running.service
      }
      await storm.progress(20)
      const broken = await storm.settle()
      return { broken, answered: storm.answered() }
    })
  })

it.scopedLive(
  "50 kills on PostgreSQL lose no change, no event, no refresh, and tell of nothing that was not saved",
  () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const { answered, broken } = yield* killAgainAndAgain(installation(Redacted.value(url)), 50)
      expect(broken).toEqual([])
      expect(answered.changes).toBeGreaterThan(100)
      expect(answered.refreshes).toBeGreaterThan(100)
    }),
  600_000
)

it.scopedLive("20 kills on the embedded database lose nothing either", () =>
  Effect.gen(function*() {
    const { answered, broken } = yield* killAgainAndAgain({ DATA_DIR: yield* temporaryFolder }, 20)
    expect(broken).toEqual([])
    expect(answered.changes).toBeGreaterThan(20)
    expect(answered.refreshes).toBeGreaterThan(20)
  }), 600_000)

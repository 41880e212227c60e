/** A service that is repeatedly killed under load. */
import { Effect } from "effect"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { type Environment, type Service, startService } from "@startlist/test-support/ServiceProcess"
import { brew } from "@startlist/test-support/Storm"

/** Kills a service this many times under load, each time after a few more answered requests. */
export const killAgainAndAgain = (environment: Environment & { readonly DATA_DIR: string }, times: number) =>
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

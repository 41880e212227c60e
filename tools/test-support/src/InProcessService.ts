/** The whole service in the process of the test, with its own PostgreSQL database. */
import * as Configuration from "@startlist/node/settings/Configuration"
import { run } from "@startlist/node/Service"
import { Cause, Context, Deferred, Effect, Fiber, Layer, Redacted, Runtime, type Scope } from "effect"
import type { Target } from "./Operator.ts"
import type { Environment } from "./ServiceProcess.ts"
import * as TestDatabase from "./TestDatabase.ts"

export interface Service extends Target {
  readonly database: TestDatabase.TestDatabase["Type"]
}

export class InProcessService extends Context.Tag("@startlist/test-support/InProcessService")<
  InProcessService,
  Service
>() {}

const operatorToken = "an operator token for tests, of 256 bits".replaceAll(/\W/g, "-")

/** Starts the service with these settings and waits until it listens. It ends with the scope. */
export const make = (environment: Environment = {}): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function*() {
    const database = yield* TestDatabase.make
    const configuration = yield* Effect.orDie(Configuration.decode({
      PORT: "0",
      DATABASE_URL: Redacted.value(database.url),
      OPERATOR_TOKEN: operatorToken,
      MASTER_KEY: Buffer.alloc(32, 9).toString("base64"),
      LOG_LEVEL: "none",
      ...environment
    }, false))
    const listening = yield* Deferred.make<string>()
    // A separate runtime: the service needs real time, and the test has virtual time.
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        Runtime.runFork(Runtime.defaultRuntime)(
          run(configuration, (url) => Deferred.succeed(listening, url)).pipe(
            Effect.onError((cause) => Deferred.die(listening, Cause.squash(cause)))
          )
        )
      ),
      Fiber.interrupt
    )
    const url = yield* Deferred.await(listening)
    return { url, operatorToken, database }
  })

/** One service for the tests of a file. */
export const layer = (environment: Environment = {}): Layer.Layer<InProcessService> =>
  Layer.scoped(InProcessService, make(environment))

/** A test over HTTP. */
export const on = (test: (service: Service) => Promise<void>) => (): Effect.Effect<void, never, InProcessService> =>
  Effect.flatMap(InProcessService, (service) => Effect.promise(() => test(service)))

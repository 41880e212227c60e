/** One service for all tests of a file. */
import { Context, Effect, Layer } from "effect"
import { type Environment, makeService, type Service } from "./ServiceProcess.ts"

export class TestService extends Context.Tag("@startlist/node/test/TestService")<TestService, Service>() {}

export const layer = (environment: Environment = {}): Layer.Layer<TestService> =>
  Layer.scoped(TestService, makeService(environment))

/** A test over HTTP. */
export const on = (test: (service: Service) => Promise<void>) => (): Effect.Effect<void, never, TestService> =>
  Effect.flatMap(TestService, (service) => Effect.promise(() => test(service)))

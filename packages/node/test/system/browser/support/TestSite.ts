/** The service in this process, in memory, on a free port, without database and outgoing requests. */
import { Audit, Callbacks, Memory, Policy, Services, Worker } from "@startlist/core"
import { ApplicationStore } from "@startlist/core/Application"
import { StoreError } from "@startlist/core/Store"
import { FailureLimit, HttpConfig, NodeHttp, NodeSecrets, Protocol, Router } from "@startlist/http"
import { Pages, Sessions } from "@startlist/pages"
import { Context, Duration, Effect, Layer, Logger, LogLevel, Option, Runtime } from "effect"
import { createServer, type RequestListener } from "node:http"
import * as MemoryAccounts from "@startlist/test-support/MemoryAccounts"
import * as ServiceRoutes from "../../../../src/ServiceRoutes.ts"
import * as LocalAccounts from "../../../../src/accounts/LocalAccounts.ts"
import { type Application, makeApplication } from "./Application.ts"

/** Switches of a test. */
export interface Switches {
  /** Status of callbacks for events. */
  callbackStatus: number
  /** Applications cannot be read. */
  storeIsDown: boolean
}

/** Services for effects of a test. */
export type Inside = Services.Stores | Services.Services | LocalAccounts.Registrar

export interface HttpConfig {
  readonly url: string
  /** An application at another origin. */
  readonly app: Application
  readonly switches: Switches
  /** Bodies of the events that were sent. */
  readonly sent: ReadonlyArray<string>
  /** Runs an effect inside the service. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Inside>) => Promise<A>
  /** Starts a worker until the scope closes. */
  readonly startWorker: () => Promise<void>
}

export class TestSite extends Context.Tag("@startlist/node/test/TestSite")<TestSite, HttpConfig>() {}

/** Serves on loopback until the scope closes. Returns the port. */
export const listen = (listener: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer(listener)
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => {
      const address = server.address()
      return { server, port: typeof address === "object" && address !== null ? address.port : 0 }
    }
  )

/** A callback that answers every challenge, and answers events with the switched status. */
const callbacksWith = (switches: Switches, sent: Array<string>): Callbacks.Callbacks.Service => {
  const answered = (status: number, contentType: string, body: string) =>
    Callbacks.Answer.Answered({ afterMs: 1, status, contentType, body, retryAfter: Option.none() })
  return {
    problem: () => Option.none(),
    validate: ({ challenge }) =>
      Effect.succeed(answered(200, "application/json", JSON.stringify({ "hub.challenge": challenge }))),
    deliver: ({ body }) =>
      Effect.sync(() => {
        sent.push(body)
        const { callbackStatus: status } = switches
        return answered(status, "text/plain", status === 200 ? "thank you" : "<b>broken</b> & sorry")
      })
  }
}

const breakable = (switches: Switches) =>
  Layer.effect(
    ApplicationStore,
    Effect.map(ApplicationStore, (store): ApplicationStore.Service => ({
      ...store,
      find: (id) => switches.storeIsDown ? Effect.fail(new StoreError({ cause: "down" })) : store.find(id)
    }))
  )

const inside = (switches: Switches, sent: Array<string>) =>
  Layer.mergeAll(Services.layer, LocalAccounts.layer, FailureLimit.layerMemory).pipe(
    Layer.provideMerge(MemoryAccounts.accounts),
    Layer.provideMerge(breakable(switches)),
    Layer.provideMerge(
      Layer.mergeAll(
        Audit.none,
        Memory.layer,
        NodeSecrets.layerDrawn,
        Layer.succeed(Callbacks.Callbacks, callbacksWith(switches, sent))
      )
    )
  )

const policy: Policy.Policy.Service = {
  ...Policy.documented,
  scopes: [...Policy.documented.scopes, "results:export", "results:see"],
  deliveryDelays: [Duration.millis(20), Duration.millis(20)],
  deliveryPoll: Duration.millis(30)
}

const make = (switches: Switches, sent: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const app = yield* makeApplication
    const runtime = yield* Effect.runtime<Inside>()
    const scope = yield* Effect.scope
    let answer: RequestListener = (_request, response) => response.writeHead(503).end()
    const { port } = yield* listen((request, response) => answer(request, response))
    const url = `http://127.0.0.1:${port}`
    const serve = Effect.gen(function*() {
      const routes = [
        ...(yield* Protocol.routes),
        ...(yield* Pages.routes),
        ...(yield* Pages.signIn),
        ...(yield* Pages.welcome),
        ...(yield* ServiceRoutes.descriptionRoutes)
      ]
      return yield* NodeHttp.listener(Router.make(routes, yield* Pages.notFound))
    })
    const site = Layer.succeed(HttpConfig.HttpConfig, { ...HttpConfig.local, authUrl: url, baseUrl: url })
    answer = yield* Effect.provide(serve, Sessions.layer.pipe(Layer.provideMerge(site)))
    const work = yield* Effect.cached(Effect.forkIn(Worker.run, scope))
    const workRuntime = yield* Effect.runtime<Effect.Effect.Context<typeof work>>()
    return TestSite.of({
      url,
      app,
      switches,
      sent,
      run: Runtime.runPromise(runtime),
      startWorker: async () => void (await Runtime.runPromise(workRuntime)(work))
    })
  })

/** A site for the tests of one file. */
export const layer: Layer.Layer<TestSite> = Layer.unwrapEffect(Effect.sync(() => {
  const switches: Switches = { callbackStatus: 200, storeIsDown: false }
  const sent: Array<string> = []
  return Layer.scoped(TestSite, make(switches, sent)).pipe(
    Layer.provide(inside(switches, sent)),
    Layer.provide(Layer.succeed(Policy.Policy, policy)),
    // Failures here are intended.
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )
}))

/** The real service in a process of its own, with its memory and its open sockets to be looked at. */
import { Effect, Schema } from "effect"
import { request } from "node:http"
import { join } from "node:path"
import {
  type Environment,
  type Service,
  startService,
  temporaryFolder,
  testProgram
} from "../../support/ServiceProcess.ts"

const Measures = Schema.parseJson(Schema.Struct({ heapUsed: Schema.Int, rss: Schema.Int, sockets: Schema.Int }))

/** Bytes after a garbage collection, and sockets that are open. */
export type Measures = typeof Measures.Type

export interface MeasuredService extends Service {
  readonly port: number
  readonly measure: () => Promise<Measures>
}

const ask = (socketPath: string): Promise<Measures> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path: "/" }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("end", () => resolve(Schema.decodeUnknownSync(Measures)(text)))
    }).on("error", reject).end()
  })

/**
 * Starts it, with a log of every request. Each request may name the address that it seems to come from, so that the
 * brakes on guessing do not hide what is behind them.
 */
export const makeMeasuredService = (environment: Environment = {}) =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const measures = join(folder, "measures")
    const settings = {
      DATA_DIR: folder,
      LOG_LEVEL: "debug",
      LOG_FORMAT: "json",
      TRUSTED_PROXIES: "127.0.0.0/8",
      MEASURES: measures,
      ...environment
    }
    const service = yield* Effect.acquireRelease(
      Effect.promise(() => startService(settings, testProgram(new URL("./measured.ts", import.meta.url)))),
      ({ stop }) => Effect.promise(() => stop("SIGKILL"))
    )
    const measured: MeasuredService = {
      ...service,
      port: Number(new URL(service.url).port),
      measure: () => ask(measures)
    }
    return measured
  })

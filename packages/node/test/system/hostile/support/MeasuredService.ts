/** The real service in its own process, with measurements of its memory and open sockets. */
import { Effect, Schema } from "effect"
import { request } from "node:http"
import { join } from "node:path"
import { type Environment, type Service, startService, testProgram } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const Measures = Schema.parseJson(Schema.Struct({ heapUsed: Schema.Int, rss: Schema.Int, sockets: Schema.Int }))

const Sample = Schema.parseJson(Schema.Struct({ rss: Schema.Int, worked: Schema.Number }))

/** Bytes after a garbage collection, and sockets that are open. */
export type Measures = typeof Measures.Type

/** Bytes of memory as it is, and milliseconds that the serving thread has worked. */
export type Sample = typeof Sample.Type

export interface MeasuredService extends Service {
  readonly port: number
  readonly measure: () => Promise<Measures>
  readonly sample: () => Promise<Sample>
}

const ask = (socketPath: string, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("end", () => resolve(text))
    }).on("error", reject).end()
  })

/** Starts it with a log of every request. Requests may name their client address, to avoid limits on guesses. */
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
      measure: async () => Schema.decodeUnknownSync(Measures)(await ask(measures, "/")),
      sample: async () => Schema.decodeUnknownSync(Sample)(await ask(measures, "/sample"))
    }
    return measured
  })

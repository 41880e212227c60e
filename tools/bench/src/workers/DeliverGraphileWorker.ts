/** `graphile-worker`, tuned: a local queue of 500, completed in batches. Arguments: the database; the callback. */
import { Logger, makeWorkerUtils, run } from "graphile-worker"
import * as Pg from "pg"
import { type Job, makeJobs, serve, subscriptions, until } from "./Delivering.ts"
import { makePost } from "./Posting.ts"

const [, , url = "", callbackUrl = ""] = process.argv
const concurrency = 256
const post = makePost(callbackUrl, concurrency)
const pool = new Pg.Pool({ connectionString: url, max: 10 })
pool.on("error", (error) => console.error(error))
// graphile-worker asks for it.
pool.on("connect", (client) => client.on("error", (error) => console.error(error)))
/** Logs nothing: a line per job would dominate the measurement. */
const logger = new Logger(() => (level, message) => level === "error" ? console.error(message) : undefined)
const utils = await makeWorkerUtils({ pgPool: pool, logger })
await utils.migrate()

/** Whether all jobs are finished: a finished job is removed. */
const isDone = async (): Promise<boolean> => {
  const { rows } = await pool.query("SELECT FROM graphile_worker._private_jobs LIMIT 1")
  return rows.length === 0
}

let posted = 0

serve(
  async (count) => {
    for (let saved = 0; saved < count; saved += subscriptions) {
      await utils.addJobs(makeJobs().map((payload) => ({ identifier: "deliver", payload })))
    }
  },
  async (count) => {
    posted = 0
    let allPosted = () => {}
    const waiting = new Promise<void>((resolve) => {
      allPosted = resolve
    })
    const began = performance.now()
    const runner = await run({
      pgPool: pool,
      logger,
      noHandleSignals: true,
      taskList: {
        // A job has the payload with which it was added.
        deliver: async (payload) => {
          await post(payload as Job)
          if (++posted === count) allPosted()
        }
      },
      preset: {
        worker: {
          concurrentJobs: concurrency,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          maxPoolSize: 10,
          pollInterval: 1000
        }
      }
    })
    await waiting
    await until(isDone)
    const millis = performance.now() - began
    await runner.stop()
    return { millis }
  }
)

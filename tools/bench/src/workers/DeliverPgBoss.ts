/**
 * `pg-boss`: eight loops that fetch 500 events, post them, and complete them together. Its own workers would pause for
 * half a second between batches. Arguments: the database; the callback.
 */
import { PgBoss } from "pg-boss"
import { type Job, makeJobs, serve, subscriptions } from "./Delivering.ts"
import { makePost } from "./Posting.ts"

const [, , url = "", callbackUrl = ""] = process.argv
const post = makePost(callbackUrl, 256)
const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
boss.on("error", (error) => console.error(error))
await boss.start()
const queue = "deliver"
await boss.createQueue(queue)

/** Runs until the queue is empty. */
const loop = async (): Promise<void> => {
  for (;;) {
    const jobs = await boss.fetch<Job>(queue, { batchSize: 500 })
    if (jobs.length === 0) return
    await Promise.all(jobs.map(({ data }) => post(data)))
    await boss.complete(queue, jobs.map(({ id }) => id))
  }
}

serve(
  async (count) => {
    for (let saved = 0; saved < count; saved += subscriptions) {
      await boss.insert(queue, makeJobs().map((data) => ({ data })))
    }
  },
  async () => {
    const began = performance.now()
    await Promise.all(Array.from({ length: 8 }, loop))
    return { millis: performance.now() - began }
  }
)

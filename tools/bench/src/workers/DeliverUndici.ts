/** The limit: the same POSTs from a list in memory, 256 at a time. Arguments: a database, unused; the callback. */
import { type Job, makeJobs, serve, subscriptions } from "./Delivering.ts"
import { makePost } from "./Posting.ts"

const [, , , callbackUrl = ""] = process.argv
const concurrency = 256
const post = makePost(callbackUrl, concurrency)
let jobs: Array<Job> = []

serve(
  async (count) => {
    for (let saved = 0; saved < count; saved += subscriptions) jobs.push(...makeJobs())
  },
  async () => {
    const began = performance.now()
    const loop = async () => {
      for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) await post(job)
    }
    await Promise.all(Array.from({ length: concurrency }, loop))
    jobs = []
    return { millis: performance.now() - began }
  }
)

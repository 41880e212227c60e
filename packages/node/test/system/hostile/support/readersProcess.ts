/**
 * Readers of bodies besides the service, in one process: the client's inbox, the fake, and the sample application. It
 * prints their ports. `GET /` on the first one shows the processor time (ms) and the memory (bytes) since the last one.
 */
import { createClient, memoryEvents } from "@startlist/client"
import { Fake } from "@startlist/fake"
import { freePort } from "@startlist/test-support/FreePort"
import { createServer, type RequestListener } from "node:http"
import * as Sample from "../../../../../../examples/sample-application/src/Server.ts"
import * as Settings from "../../../../../../examples/sample-application/src/Settings.ts"

const listen = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const resting = process.memoryUsage.rss()
let peak = 0
setInterval(() => peak = Math.max(peak, process.memoryUsage.rss()), 5).unref()
let worked = process.cpuUsage()

const measures = await listen((_, response) => {
  const { system, user } = process.cpuUsage(worked)
  response.end(JSON.stringify({ resting, peak, worked: (system + user) / 1000 }))
  peak = process.memoryUsage.rss()
  worked = process.cpuUsage()
})

const inbox = createClient({
  url: "http://127.0.0.1:1",
  clientId: 1,
  clientSecret: "x",
  redirectUri: "http://localhost/"
})
  .inbox({ store: memoryEvents(), verifyToken: "v", signingSecrets: () => ["whsec_AAAA"], handle: () => {} })

const fake = await Fake.start()

const port = await freePort()
await Sample.start(Settings.read({
  PORT: String(port),
  STARTLIST_URL: "http://127.0.0.1:1",
  CLIENT_ID: "1",
  CLIENT_SECRET: "x",
  SIGNING_SECRET: "whsec_AAAA"
}))

console.log(JSON.stringify({
  measures,
  inbox: await listen(inbox.node),
  fake: Number(new URL(fake.url).port),
  sample: port
}))

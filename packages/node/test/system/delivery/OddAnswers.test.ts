/** Answers of receivers that are no HTTP cost the built program no more than others. */
import { expect, it } from "@effect/vitest"
import { obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate
} from "@startlist/test-support/Operator"
import { startService } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"

/** What the receivers answer to events. The first one is good. */
const answers = [
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 000 x\r\n\r\n",
  "HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 0 x\r\n\r\n",
  "HTTP/1.1 -1 x\r\n\r\n",
  "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
  "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 000 x\r\n\r\n",
  "HTTP/1.1 204 x\r\nContent-Length: 3\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 000 x\r\n\r\n",
  "HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n",
  "\0\0\0\0"
]

/** Answers challenges, and events by the number in their path. */
const receiver = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => {}).on("data", (bytes) => {
        const [, method, target = ""] = /^(GET|POST) (\S+) /.exec(bytes.toString("latin1")) ?? []
        const { pathname, searchParams } = new URL(target, "http://receiver.invalid")
        const body = JSON.stringify({ "hub.challenge": searchParams.get("hub.challenge") })
        const challenge = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
        socket.write(method === "GET" ? challenge + body : answers[Number(pathname.slice(1))] ?? "", "latin1")
      })
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      resume(Effect.succeed({ port, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const byNumber = (a: number, b: number): number => a - b

/** Milliseconds of processor time of a process (proc(5)). The system counts hundredths of a second. */
const worked = (pid: number | undefined): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}

it.scopedLive.runIf(process.platform === "linux")(
  "answers that are no HTTP fail only their own attempt",
  () =>
    Effect.gen(function*() {
      const { port } = yield* receiver
      const folder = yield* temporaryFolder
      const service = yield* Effect.acquireRelease(
        Effect.promise(() =>
          startService({ DATA_DIR: folder, CALLBACK_ALLOW: "127.0.0.0/8", DELIVERY_DELAYS: "100ms,100ms" })
        ),
        ({ stop }) => Effect.promise(() => stop("SIGKILL"))
      )
      yield* Effect.promise(async () => {
        const athlete = await createUser(service, "athlete")
        const places = new Map<number, number>()
        for (const place of answers.keys()) {
          const platform = await createUser(service, "platform")
          const client = await createApplication(service, platform)
          const { access_token } = await obtainTokens(service, client, platform)
          await obtainTokens(service, client, athlete)
          expect((await subscribe(service, access_token, `http://127.0.0.1:${port}/${place}`)).status).toBe(201)
          places.set(client.client_id, place)
        }
        const registration = await createRegistration(service, { athlete_id: athlete.id })
        const before = worked(service.child.pid)
        await changeRegistration(service, registration, { registration_status: "changed" })
        const deliveries = await eventually(
          async () => (await operate(service, "GET", "/deliveries?limit=100")).body.deliveries,
          (all) =>
            all.length === answers.length && !all.some(({ state }: { readonly state: string }) => state === "pending")
        )
        const delivered = deliveries.filter(({ state }: { readonly state: string }) => state === "delivered")
        const paths = delivered.map(({ client_id }: { readonly client_id: number }) => places.get(client_id)).sort(
          byNumber
        )
        // The head decides about 9.
        expect(paths).toEqual([0, 9, 11])
        // One such answer cost 3.6 s when a library's assertion was described from the source of the program.
        expect(worked(service.child.pid) - before).toBeLessThan(3_000)
      })
    })
)

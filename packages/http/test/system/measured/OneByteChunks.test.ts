import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("support/server.ts", import.meta.url))

const started = (kind: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = fork(script, [kind], { execArgv: ["--import", "tsx", "--conditions=@startlist/source"] })
      const [{ port }] = await once(child, "message")
      return { child, port: Number(port) }
    }),
    ({ child }) => Effect.sync(() => child.kill())
  )

/** CPU time in milliseconds that the process has used. */
const cpuOf = async (child: ChildProcess): Promise<number> => {
  child.send("cpu")
  const [{ cpu }] = await once(child, "message")
  return cpu
}

const head = "POST /oauth/token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
const chunks = "1\r\na\r\n".repeat(2_000)

/** Sends one-byte chunks at 1.2 MiB a second for three seconds, or until the server closes the connection. */
const attack = async (port: number): Promise<void> => {
  const socket = connect(port, "127.0.0.1").on("error", () => {}).resume()
  socket.write(head)
  for (let i = 0; i < 300 && socket.writable; i++) {
    socket.write(chunks)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  socket.destroy()
}

it.scopedLive("a connection with one-byte chunks costs little more CPU than closing it, which plain Node does", () =>
  Effect.gen(function*() {
    const costOf = (kind: string) =>
      Effect.flatMap(started(kind), ({ child, port }) =>
        Effect.promise(async () => {
          await attack(port)
          const before = await cpuOf(child)
          for (let i = 0; i < 5; i++) await attack(port)
          return await cpuOf(child) - before
        }))
    const [own, plain] = [yield* costOf("binding"), yield* costOf("plain")]
    expect(own, `plain: ${plain} ms`).toBeLessThan(3 * plain + 100)
  }))

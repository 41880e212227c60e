/** The connection that listens, on a network that drops everything without a word. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import * as Pg from "pg"
import { eventually } from "@startlist/test-support/Eventually"
import * as TestServer from "@startlist/test-support/TestServer"
import * as Pool from "../../src/internal/pool.ts"

/** Passes connections on to a port, until it is silent. */
const makeNetwork = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets: Array<Socket> = []
      const server = createServer((near) => {
        const far = connect(port, "127.0.0.1")
        for (const socket of [near, far]) sockets.push(socket.on("error", () => {}))
        near.pipe(far)
        far.pipe(near)
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return {
        port: (server.address() as AddressInfo).port,
        silence: () => {
          for (const socket of sockets) socket.unpipe().pause()
        },
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        }
      }
    }),
    ({ close }) => Effect.sync(close)
  )

it.scopedLive("a connection that is dropped silently is noticed within seconds", () =>
  Effect.gen(function*() {
    const { url } = yield* TestServer.make()
    const network = yield* makeNetwork(Number(new URL(url).port))
    const behind = new URL(url)
    behind.port = String(network.port)
    const heard: Array<string> = []
    const listening = yield* Effect.fork(
      Pool.listen({ url: Redacted.make(behind.href) }, "news", (payload) => heard.push(payload))
    )
    yield* Effect.promise(async () => {
      const client = new Pg.Client({ connectionString: url })
      await client.connect()
      await eventually(async () => {
        await client.query("NOTIFY news, 'first'")
        return heard.length
      }, (count) => count > 0)
      await client.end()
    })
    network.silence()
    const began = Date.now()
    expect((yield* Effect.flip(Fiber.join(listening)))._tag).toBe("SqlError")
    expect(Date.now() - began).toBeLessThan(15_000)
  }), 60_000)

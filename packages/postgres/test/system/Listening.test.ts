/** The listening connection, on a network that silently drops all packets. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import * as Pg from "pg"
import { eventually } from "@startlist/test-support/Eventually"
import * as SilentNetwork from "@startlist/test-support/SilentNetwork"
import * as TestServer from "@startlist/test-support/TestServer"
import * as Pool from "../../src/internal/pool.ts"

it.scopedLive("a silently dropped connection is detected within seconds", () =>
  Effect.gen(function*() {
    const { url } = yield* TestServer.make()
    const network = yield* SilentNetwork.make(url)
    const heard: Array<string> = []
    const listening = yield* Effect.fork(
      Pool.listen({ url: Redacted.make(network.url) }, "news", (payload) => heard.push(payload))
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
  }))

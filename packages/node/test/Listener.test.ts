/** The HTTP socket of the service. */
import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { EventEmitter } from "node:events"
import * as Listener from "../src/Listener.ts"

it.scopedLive("a connection that the system does not give to the process is logged, and nothing ends", () => {
  const logged: Array<unknown> = []
  return Effect.gen(function*() {
    const { port, serve } = yield* Listener.bind("127.0.0.1", 0, { maxConnections: 8, trustedProxies: [] })
    yield* serve(({ socket }, response) => {
      const server = "server" in socket && socket.server instanceof EventEmitter ? socket.server : undefined
      server?.emit("error", new Error("accept ENFILE"))
      response.end(String(server !== undefined))
    })
    const ask = () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())
    expect([yield* Effect.promise(ask), yield* Effect.promise(ask)]).toEqual(["true", "true"])
    expect(logged).toHaveLength(2)
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => logged.push(message)))))
})

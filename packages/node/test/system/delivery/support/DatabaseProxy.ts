/** A proxy between a worker and its database that can hold bytes back. */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

type Direction = "queries" | "answers"

export interface DatabaseProxy {
  /** The same database, through the proxy. */
  readonly url: string
  /** Holds everything in this direction, beginning with a packet that contains this text. Resolves at that packet. */
  readonly holdBack: (direction: Direction, text: string) => Promise<void>
  /** Releases everything that is held, and stops holding. */
  readonly release: () => void
}

/** A proxy on loopback, until the scope closes. */
export const makeDatabaseProxy = (target: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const address = new URL(target)
      const sockets = new Set<Socket>()
      const held: Array<() => void> = []
      let hold: { readonly direction: Direction; readonly text: string; readonly seen: () => void } | undefined
      let isHolding = false

      const pump = (direction: Direction, from: Socket, to: Socket) => {
        from.on("data", (chunk) => {
          if (hold?.direction === direction && (isHolding || chunk.includes(hold.text))) {
            held.push(() => to.write(chunk))
            isHolding = true
            hold.seen()
          } else to.write(chunk)
        })
        from.on("error", () => to.destroy())
        from.on("close", () => to.destroy())
        sockets.add(from)
      }
      const server = createServer((worker) => {
        const database = connect(Number(address.port), address.hostname)
        pump("queries", worker, database)
        pump("answers", database, worker)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const bound = server.address()
      const url = new URL(target)
      url.port = String(typeof bound === "object" && bound !== null ? bound.port : 0)

      const proxy: DatabaseProxy = {
        url: url.href,
        holdBack: (direction, text) =>
          new Promise((resolve) => {
            hold = { direction, text, seen: resolve }
          }),
        release: () => {
          hold = undefined
          isHolding = false
          for (const send of held.splice(0)) send()
        }
      }
      const close = () => {
        server.close()
        for (const socket of sockets) socket.destroy()
      }
      return { proxy, close }
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ proxy }) => proxy))

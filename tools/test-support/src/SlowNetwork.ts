/** A TCP proxy in front of a server, as a network that is far away: each direction takes some time. */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

/** Sends what arrives on one socket over the other one after `delay` milliseconds, in order, with its end. */
const forward = (from: Socket, to: Socket, delay: number): void => {
  const later = (send: () => void) => void setTimeout(() => to.destroyed || send(), delay)
  from.on("data", (bytes) => later(() => to.write(bytes)))
  from.on("end", () => later(() => to.end()))
  from.on("close", () => later(() => to.destroy()))
  from.on("error", () => to.destroy())
}

/** Serves `port` of this machine on another port with `delay` milliseconds in each direction, until the scope closes. */
export const make = (port: number, delay: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const server = createServer((near) => {
        const far = connect(port, "127.0.0.1")
        for (const socket of [near, far]) {
          sockets.add(socket)
          socket.on("close", () => sockets.delete(socket))
        }
        forward(near, far, delay)
        forward(far, near, delay)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return { server, sockets, port: typeof address === "object" && address !== null ? address.port : 0 }
    }),
    ({ server, sockets }) =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  ).pipe(Effect.map(({ port }) => port))

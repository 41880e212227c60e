/** A network that can drop all packets. */
import { Effect } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** Forwards connections to a port until it is silenced. */
export const make = (port: number) =>
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

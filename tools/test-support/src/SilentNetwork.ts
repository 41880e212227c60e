/** A network that can drop all packets, or hold them back. */
import { Effect } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** Forwards connections to the host and port of a URL, except while it is silent. `url` leads through it. */
export const make = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(url)
      const sockets = new Set<Socket>()
      let path = { isSilent: false }
      let isHeld = false
      const end = () => {
        for (const socket of sockets) socket.destroy()
      }
      const server = createServer((near) => {
        const own = path
        const far = connect(Number(target.port), target.hostname)
        for (const [from, to] of [[near, far], [far, near]] as const) {
          sockets.add(from)
          from.on("data", (chunk) => own.isSilent || to.write(chunk))
          from.on("close", () => to.destroy())
          from.on("error", () => to.destroy())
          if (isHeld) from.pause()
        }
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const through = new URL(url)
      through.port = String((server.address() as AddressInfo).port)
      return {
        url: through.href,
        silence: () => {
          path.isSilent = true
        },
        /** Forwards new connections again. Those of the silent time have lost bytes, so it ends them. */
        speak: () => {
          path = { isSilent: false }
          end()
        },
        /** Forwards new connections again. The others stay silent, as if their server had lost its power. */
        replace: () => {
          path = { isSilent: false }
        },
        /** Holds all packets back, in both directions. */
        hold: () => {
          isHeld = true
          for (const socket of sockets) socket.pause()
        },
        /** Delivers everything that was held back. */
        deliver: () => {
          isHeld = false
          for (const socket of sockets) socket.resume()
        },
        close: () => {
          end()
          server.close()
        }
      }
    }),
    ({ close }) => Effect.sync(close)
  )

/** Finds a free port. */
import { createServer } from "node:net"

/** Listens on a port for a moment. None if it is in use. Without IPv6, it counts as free there. */
const probe = (port: number, host: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", (error) => resolve("code" in error && error.code === "EADDRINUSE" ? undefined : port))
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : port))
    })
  })

/** `wanted` if it is free on this machine's IPv4 and IPv6 (`localhost` may mean either), else any other. */
export const freePort = async (wanted: number): Promise<number> => {
  const taken = await probe(wanted, "127.0.0.1")
  return taken !== undefined && taken !== 0 && (await probe(taken, "::1")) !== undefined ? taken : freePort(0)
}

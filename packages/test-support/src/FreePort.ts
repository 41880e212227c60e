/** Ports for servers that cannot take one of the kernel's choice, or whose address must be known before they start. */
import { once } from "node:events"
import { createServer } from "node:net"

/** Below the ports that the kernel gives to connections and to servers that ask for any (Linux: from 32768 on). */
const [first, last] = [10_000, 32_000]

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, "127.0.0.1")
  try {
    await once(server, "listening")
  } catch {
    return false
  }
  server.close()
  await once(server, "close")
  return true
}

/** A port that nobody listens on, drawn: tests that run at the same time get different ones. */
export const freePort = async (): Promise<number> => {
  while (true) {
    const port = first + Math.floor(Math.random() * (last - first))
    if (await isFree(port)) return port
  }
}

/** Ports for servers that cannot use a port that the kernel assigns, or whose address must be known before the start. */
import { once } from "node:events"
import { createServer } from "node:net"

/** Range below the ports that the kernel assigns (Linux: from 32768 on). */
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

/** A random unused port, so that tests that run at the same time get different ones. */
export const freePort = async (): Promise<number> => {
  while (true) {
    const port = first + Math.floor(Math.random() * (last - first))
    if (await isFree(port)) return port
  }
}

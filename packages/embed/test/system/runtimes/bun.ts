/** `bun bun.js` */
import { start } from "./Club.ts"

interface Server {
  readonly port: number
  readonly requestIP: (request: Request) => { readonly address: string } | null
}

declare const Bun: {
  readonly serve: (options: {
    readonly port: number
    readonly hostname: string
    readonly fetch: (request: Request, server: Server) => Promise<Response>
  }) => Server
}

const { port } = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request, server) => (await club)(request, server.requestIP(request)?.address)
})
const origin = `http://127.0.0.1:${port}`
const club = start(origin)
console.log(`${origin} listens`)

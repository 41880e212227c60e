/** `deno run --allow-net deno.js` */
import { type Fetch, start } from "./Club.ts"

declare const Deno: {
  readonly serve: (
    options: {
      readonly port: number
      readonly hostname: string
      readonly onListen: (at: { readonly port: number }) => void
    },
    handle: (request: Request, info: { readonly remoteAddr: { readonly hostname: string } }) => Promise<Response>
  ) => unknown
}

let club: Promise<Fetch>

Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => {
    const origin = `http://127.0.0.1:${port}`
    club = start(origin)
    console.log(`${origin} listens`)
  }
}, async (request, { remoteAddr }) => (await club)(request, remoteAddr.hostname))

/** Modules for Node (`node:http`, `node:tls`, `node:crypto`) in a compatible runtime. It listens on a free port, and prints it. */
import { getRequestListener } from "@hono/node-server"
import * as Startlist from "@startlist/embed/Startlist"
import { createServer } from "node:http"
import { callbacks, serve } from "./Club.ts"
import * as Connect from "./Connect.ts"

const server = Startlist.harden(createServer())
server.listen(0, "127.0.0.1", async () => {
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : undefined}`
  const startlist = await Startlist.make({ ...Connect.options(origin), callbacks })
  const club = serve(startlist)
  const others = getRequestListener((request) => club(request))
  server.on("request", (incoming, outgoing) => {
    if (incoming.url?.startsWith("/connect") === true) startlist.listener(incoming, outgoing)
    else void others(incoming, outgoing)
  })
  console.log(`${origin} listens`)
})

/** The server of a fake, whose port is known before it can serve. */
import { createServer, type RequestListener, type Server } from "node:http"

export interface Listening {
  readonly server: Server
  readonly port: number
  /** Starts to serve with this listener, including earlier requests, which have waited. */
  readonly serve: (listener: RequestListener) => void
}

/** Listens. Rejects if the port is in use. */
export const open = async (port: number, host: string): Promise<Listening> => {
  let serve: Listening["serve"] = () => {}
  const listener = new Promise<RequestListener>((resolve) => {
    serve = resolve
  })
  const server = createServer((incoming, outgoing) => {
    listener.then((answer) => answer(incoming, outgoing))
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve)
  })
  const address = server.address()
  return { server, serve, port: typeof address === "object" && address !== null ? address.port : port }
}

/** The server of a fake: its port is known before anything can answer. */
import { createServer, type RequestListener, type Server } from "node:http"

export interface Listening {
  readonly server: Server
  readonly port: number
  /** Answers with this listener from now on: also the requests that came earlier, which wait for it. */
  readonly serve: (listener: RequestListener) => void
}

/** Listens. Rejected if the port is taken. */
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

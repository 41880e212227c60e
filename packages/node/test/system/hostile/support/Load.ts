/** Clients that send the next request as soon as they get a response, over kept-alive connections. */
import { Agent, request } from "node:http"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Taken {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
  readonly milliseconds: number
}

/** One request; rejected if the connection breaks. */
export const take = (port: number, { body, headers, method, path }: Asked, agent?: Agent): Promise<Taken> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const length = { "content-length": String(Buffer.byteLength(body)) }
    request({ port, host: "127.0.0.1", method, path, headers: { ...headers, ...length }, agent }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("error", reject)
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: text,
          milliseconds: performance.now() - began
        }))
    }).on("error", reject).end(body)
  })

/** Runs a number of parallel clients until `enough` returns true. Returns all responses. */
export const load = async (
  port: number,
  clients: number,
  asked: (client: number) => Asked,
  enough: (taken: ReadonlyArray<Taken>) => boolean
): Promise<ReadonlyArray<Taken>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const taken: Array<Taken> = []
  const client = async (number: number) => {
    while (!enough(taken)) taken.push(await take(port, asked(number), agent))
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  agent.destroy()
  return taken
}

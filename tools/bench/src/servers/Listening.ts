/** Shared parts of the peers' servers: an application, its athletes, their tokens, and minimal HTTP. */
import { hash, randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import * as Child from "../Child.ts"
import { type Athlete, connections, type Ready } from "../Protocol.ts"

/** 256 random bits, like our tokens. */
export const makeToken = (): string => randomBytes(32).toString("base64url")

/** The stored hash of a token or secret. */
export const fingerprint = (value: string): string => hash("sha256", value, "base64url")

/** The application and its athletes, from 1 on, with fresh tokens. */
export const makeFixture = () => ({
  clientId: "1",
  clientSecret: makeToken(),
  athletes: Array.from({ length: connections + 1 }, (_, index): Athlete => ({
    id: index + 1,
    accessToken: makeToken(),
    refreshToken: makeToken()
  }))
})

export const sendJson = (response: ServerResponse, status: number, text: string): void => {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(text)
  })
  response.end(text)
}

/** The parameters of a form. */
export const readForm = (request: IncomingMessage): Promise<Record<string, string>> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("error", reject)
    request.on("end", () => resolve(Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))))
  })

/** Headers of a request. Only `authorization` is read. */
export type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** The token of an `Authorization` header. */
export const bearerOf = ({ headers }: { readonly headers: Headers }): string | undefined =>
  /^bearer +([\w.~+/-]+=*)$/i.exec(String(headers["authorization"] ?? ""))?.[1]

/** Serves on a free port, and reports it to the run. */
export const listen = (listener: RequestListener, fixture: Omit<Ready, "port">): void => {
  const server = createServer(listener)
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    Child.ready({ ...fixture, port: typeof address === "object" && address !== null ? address.port : 0 })
  })
}

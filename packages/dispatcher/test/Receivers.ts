/** Receivers on loopback for the tests: real servers with valid or invalid behaviour. */
import { expect } from "@effect/vitest"
import { Callbacks } from "@startlist/core"
import { AddressGuard, Dispatcher } from "@startlist/dispatcher"
import { Context, Duration, Effect, Layer, Option, Redacted, type Scope } from "effect"
import * as http from "node:http"
import * as net from "node:net"

export const loopback = ["127.0.0.0/8", "::1/128"].map((cidr) => Option.getOrThrow(AddressGuard.parseBlock(cidr)))

/** A dispatcher that may call loopback, until the scope closes. */
export const dispatcher = (options: Dispatcher.Options = {}) =>
  Effect.map(Layer.build(Dispatcher.layerWith({ allow: loopback, ...options })), Context.get(Callbacks.Callbacks))

export const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`

export const post = (callbackUrl: string, changed: Partial<Callbacks.Post> = {}): Callbacks.Post => ({
  callbackUrl,
  id: "evt_1",
  timestamp: Math.floor(Date.now() / 1000),
  body: `{"object_id":1}`,
  secrets: [Redacted.make(secret)],
  sequence: 1,
  trace: Option.none(),
  timeout: Duration.seconds(2),
  ...changed
})

export const validation = (
  callbackUrl: string,
  changed: Partial<Callbacks.Validation> = {}
): Callbacks.Validation => ({
  callbackUrl,
  challenge: "c-1",
  verifyToken: Redacted.make("t o+k&n"),
  timeout: Duration.seconds(2),
  ...changed
})

/** A listening server, with observations of its connections. */
export interface Receiver {
  readonly port: number
  readonly url: string
  /** Number of connections until now. */
  readonly accepted: () => number
  /** Waits until no connection is open. Fails after three seconds, because then one has leaked. */
  readonly allClosed: Effect.Effect<void>
}

export const listening = (server: net.Server): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.gen(function*() {
    const open = new Set<net.Socket>()
    let accepted = 0
    let whenClosed = () => {}
    server.on("connection", (socket: net.Socket) => {
      accepted++
      open.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        open.delete(socket)
        if (open.size === 0) whenClosed()
      })
    })
    yield* Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    yield* Effect.addFinalizer(() =>
      Effect.async<void>((resume) => {
        for (const socket of open) socket.destroy()
        server.close(() => resume(Effect.void))
      })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      port,
      url: `http://127.0.0.1:${port}/hook`,
      accepted: () => accepted,
      allClosed: Effect.async<void>((resume) => {
        whenClosed = () => resume(Effect.void)
        if (open.size === 0) whenClosed()
      }).pipe(Effect.timeout("3 seconds"), Effect.orDie)
    }
  })

/** A server on bare TCP: `respond` runs when a request has begun to arrive. */
export const raw = (respond: (socket: net.Socket) => void): Effect.Effect<Receiver, never, Scope.Scope> =>
  listening(net.createServer((socket) => {
    socket.once("data", () => respond(socket))
    socket.resume()
  }))

/** A server that answers every request after its body. */
export const responding = (
  respond: (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void
): Effect.Effect<Receiver, never, Scope.Scope> =>
  listening(http.createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk) => body += chunk).on("end", () => respond(request, response, body))
  }))

/** Writes repeatedly while the other side reads. */
export const flood = (socket: net.Socket, chunk: string | Buffer): void => {
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on("drain", write)
  write()
}

/** Collects errors in the background, which fail no effect. */
export const watchProcess = (): ReadonlyArray<unknown> => {
  const troubles: Array<unknown> = []
  for (const event of ["unhandledRejection", "uncaughtExceptionMonitor"] as const) {
    process.on(event, (trouble: unknown) => troubles.push(trouble))
  }
  return troubles
}

/** The beginning of an acknowledging response, after which more headers or the body can follow. */
export const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

export const expectAnswered = (answer: Callbacks.Answer, status: number) => {
  expect(answer).toMatchObject({ _tag: "Answered", status })
  return answer._tag === "Answered" ? answer : expect.unreachable()
}

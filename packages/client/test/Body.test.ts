/** The limits of bodies, for `node:http` and for streams. */
import { BodyRefused, type Limits, readBody, readStream } from "@startlist/client/Body"
import { createServer, request } from "node:http"
import { describe, expect, it } from "vitest"

type Read = Uint8Array | BodyRefused | Error

/** What a server reads of these pieces, each in a chunk of its own. The body ends only if `ends`. */
const byNode = async (pieces: Iterable<Uint8Array>, ends: boolean, limits: Limits): Promise<Read> => {
  const server = createServer()
  const read = new Promise<Read>((resolve) => {
    server.on("request", (incoming, outgoing) => {
      readBody(incoming, limits).then(resolve, resolve).finally(() => outgoing.destroy())
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const outgoing = request({ port, method: "POST" }).on("error", () => {})
  for (const piece of pieces) outgoing.write(piece)
  if (ends) outgoing.end()
  try {
    return await read
  } finally {
    outgoing.destroy()
    server.close()
    server.closeAllConnections()
  }
}

const byStream = (pieces: Iterable<Uint8Array>, ends: boolean, limits: Limits): Promise<Read> => {
  const iterator = pieces[Symbol.iterator]()
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done = false, value } = iterator.next()
      if (!done) controller.enqueue(value)
      else if (ends) controller.close()
      else return new Promise<void>(() => {})
      return undefined
    }
  })
  return readStream(stream, limits).catch((error: Error) => error)
}

const bytes = (count: number, value = 1) => Array.from({ length: count }, () => Uint8Array.of(value))

describe.each([["node:http", byNode], ["a stream", byStream]] as const)("a body from %s", (_, read) => {
  it("is read whole, in any number of pieces that is allowed", async () => {
    const pieces = [new Uint8Array(70_000).fill(7), ...bytes(1000, 8), new Uint8Array(0), Uint8Array.of(9)]
    expect(await read(pieces, true, {})).toEqual(Uint8Array.from(Buffer.concat(pieces)))
    expect(await read([], true, {})).toEqual(new Uint8Array())
  })

  it("is refused with 413 if it has more bytes or pieces than are allowed", async () => {
    expect(await read([new Uint8Array(100)], true, { maxBytes: 100 })).toEqual(new Uint8Array(100))
    expect(await read([new Uint8Array(101)], false, { maxBytes: 100 })).toMatchObject({ status: 413 })
    expect(await read(bytes(1025), false, {})).toMatchObject({ status: 413 })
  })

  it("is refused with 408 if it is not complete in time", async () => {
    expect(await read([Uint8Array.of(1)], false, { timeout: 20 })).toMatchObject({ status: 408 })
  })
})

it("a body whose client disconnects fails, and is not refused", async () => {
  const server = createServer()
  const read = new Promise<unknown>((resolve) => {
    server.on("request", (incoming) => {
      readBody(incoming).then(resolve, resolve)
      incoming.once("data", () => outgoing.destroy())
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const outgoing = request({ port, method: "POST" }).on("error", () => {})
  outgoing.write("begin")
  const failed = await read
  expect(failed).toBeInstanceOf(Error)
  expect(failed).not.toBeInstanceOf(BodyRefused)
  server.close()
})

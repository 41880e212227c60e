/** A client that sends any bytes and records the response. */
import { connect } from "node:net"

export interface Script {
  /** Pieces, each written after the previous one was sent. */
  readonly pieces: ReadonlyArray<Uint8Array>
  /** Disconnects after the last piece, without waiting for a response. */
  readonly cut: boolean
  /** Time without a byte (ms) after which the client ends the connection. None: the server must close it. */
  readonly silence?: number
}

export interface Transcript {
  readonly received: Buffer
  /** Whether the connection ended within the deadline. */
  readonly ended: boolean
}

/** 60 seconds, because the machine may be busy with other tests. */
export const deadline = 60_000

/** Runs a script. */
export const converse = (port: number, { cut, pieces, silence }: Script): Promise<Transcript> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    let quiet: NodeJS.Timeout | undefined

    const settle = (ended: boolean) => {
      clearTimeout(late)
      clearTimeout(quiet)
      socket.destroy()
      resolve({ received: Buffer.concat(chunks), ended })
    }
    const late = setTimeout(() => settle(false), deadline)
    const listen = () => {
      if (silence === undefined) return
      clearTimeout(quiet)
      quiet = setTimeout(() => socket.end(), silence)
    }
    const send = (next: number) => {
      const piece = pieces[next]
      if (socket.destroyed) return
      if (piece === undefined) return cut ? settle(true) : listen()
      socket.write(piece, () => setImmediate(send, next + 1))
    }
    socket.on("data", (chunk) => {
      chunks.push(chunk)
      if (quiet !== undefined) listen()
    })
    // The server has closed or reset the connection.
    socket.on("end", () => settle(true)).on("error", () => {}).on("close", () => settle(true))
    socket.setNoDelay(true).on("connect", () => send(0))
  })

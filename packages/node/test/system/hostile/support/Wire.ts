/** A client that sends bytes, whatever they mean, and keeps what comes back. */
import { connect } from "node:net"

export interface Script {
  /** Written one after another, each when the one before has left. */
  readonly pieces: ReadonlyArray<Uint8Array>
  /** Goes away after the last piece, without waiting for an answer. */
  readonly cut: boolean
  /** After so long without a byte nothing more is sent either (milliseconds). None: the server has to close. */
  readonly silence?: number
}

export interface Transcript {
  readonly received: Buffer
  /** Whether the connection ended within the deadline. */
  readonly ended: boolean
}

/** A quarter of a minute, on a machine that is busy with other tests. */
export const deadline = 15_000

/** Plays a script. */
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
    // The server has said its last word. A connection that it resets has ended as well.
    socket.on("end", () => settle(true)).on("error", () => {}).on("close", () => settle(true))
    socket.setNoDelay(true).on("connect", () => send(0))
  })

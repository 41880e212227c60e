/** Reading a body that comes as a Web stream, up to a limit of size. */
import { maxBodyBytes, maxSwallowedBytes } from "../Message.ts"

const empty = new Uint8Array()

/** Collects the chunks of a body, and forgets what is over the limit: only that there is more of it counts. */
export class Collected {
  private readonly chunks: Array<Uint8Array> = []
  private size = 0

  /** Takes the next chunk; answers whether it is worth reading on. */
  add(chunk: Uint8Array): boolean {
    if (this.size <= maxBodyBytes) this.chunks.push(chunk)
    this.size += chunk.byteLength
    return this.size <= maxSwallowedBytes
  }

  /** All that came, cut one byte behind the limit. A body of one chunk is not copied. */
  get body(): Uint8Array {
    const [first = empty, ...others] = this.chunks
    if (others.length === 0) return cut(first)
    const joined = new Uint8Array(this.chunks.reduce((length, chunk) => length + chunk.byteLength, 0))
    let at = 0
    for (const chunk of this.chunks) {
      joined.set(chunk, at)
      at += chunk.byteLength
    }
    return cut(joined)
  }
}

const cut = (body: Uint8Array): Uint8Array => body.byteLength > maxBodyBytes ? body.subarray(0, maxBodyBytes + 1) : body

/**
 * Reads a stream to its end, or as far as it is worth it, or until the signal; then the sender is told to stop. Rejected
 * if the stream breaks.
 */
export const readStream = async (
  stream: ReadableStream<Uint8Array> | null,
  signal: AbortSignal
): Promise<Uint8Array> => {
  if (stream === null) return empty
  const collected = new Collected()
  const reader = stream.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener("abort", stop, { once: true })
  while (true) {
    const { done, value } = await reader.read()
    if (done) return collected.body
    if (collected.add(value)) continue
    stop()
    return collected.body
  }
}

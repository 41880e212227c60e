/** Reads a body from a Web stream, up to a limit of size. */
import { Body } from "./body.ts"

/** Reads a stream to its end, to its limit, or until the signal, and then cancels it. Rejects if the stream breaks. */
export const readStream = async (stream: ReadableStream<Uint8Array> | null, signal: AbortSignal): Promise<Body> => {
  const body = new Body()
  if (stream === null) return body
  const reader = stream.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener("abort", stop, { once: true })
  while (true) {
    const { done, value } = await reader.read()
    if (done) return body
    if (body.add(value)) continue
    stop()
    return body
  }
}

/** What of the body of a `Response` is read: `Exchange` has the same limits. */
import * as Effect from "effect/Effect"

/** Length of an excerpt in characters and in bytes, and the maximum wait for it in milliseconds. */
const excerptLength = 200
const excerptBytes = 4 * excerptLength
const excerptWait = 250

/** The largest body of a validation. A larger one counts as empty. */
const wholeBytes = 4 * 1024

/** Collects pieces until there are more than `most` bytes, the stream ends or breaks, or the signal. */
const collect = async (
  { body }: Response,
  most: number,
  pieces: Array<Uint8Array>,
  signal: AbortSignal
): Promise<"complete" | "cut" | "broken"> => {
  if (body === null) return "complete"
  const reader = body.getReader()
  const stop = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener("abort", stop, { once: true })
  let size = 0
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return "complete"
      pieces.push(value)
      size += value.byteLength
      if (size <= most) continue
      stop()
      return "cut"
    }
  } catch {
    return "broken"
  }
}

const textOf = (pieces: ReadonlyArray<Uint8Array<ArrayBuffer>>) => Effect.promise(() => new Blob([...pieces]).text())

/**
 * The body as text: `whole` for an answer of 200 to a validation, which fails if it breaks off; of every other the
 * beginning. Nothing is decoded: what has a content coding counts as empty.
 */
export const readAnswer = (response: Response, reads: "excerpt" | "whole"): Effect.Effect<string, "broken"> => {
  const isWhole = reads === "whole" && response.status === 200
  const pieces: Array<Uint8Array<ArrayBuffer>> = []
  const collected = Effect.promise((signal) => collect(response, isWhole ? wholeBytes : excerptBytes, pieces, signal))
  const isCoded = response.headers.has("content-encoding")
  if (!isWhole) {
    return Effect.timeoutOption(collected, excerptWait).pipe(
      Effect.zipRight(Effect.suspend(() => textOf(pieces))),
      Effect.map((text) => isCoded ? "" : text.slice(0, excerptLength))
    )
  }
  return Effect.flatMap(collected, (outcome) => {
    if (outcome === "broken") return Effect.fail("broken" as const)
    return outcome === "cut" || isCoded ? Effect.succeed("") : textOf(pieces)
  })
}

/** Reads the body of a `Response`, with the limits of `Exchange`. */
import * as Effect from "effect/Effect"
import { excerptBytes, excerptLength, excerptWait } from "./excerpt.ts"

/** Maximum size of a validation's body in bytes. A larger one counts as empty. */
const wholeBytes = 4 * 1024

/** Collects pieces until the end of the stream, more than `most` bytes, an error, or the signal. */
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
 * The body as text: `whole` for a 200 to a validation, which fails if the body is incomplete; otherwise the beginning,
 * as much of it as arrives well before the deadline, which is `left` milliseconds away. Nothing is decompressed: a body with a content coding counts as empty.
 */
export const readAnswer = (
  response: Response,
  reads: "excerpt" | "whole",
  left: number
): Effect.Effect<string, "broken"> => {
  const isWhole = reads === "whole" && response.status === 200
  const pieces: Array<Uint8Array<ArrayBuffer>> = []
  const collected = Effect.promise((signal) => collect(response, isWhole ? wholeBytes : excerptBytes, pieces, signal))
  const isCoded = response.headers.has("content-encoding")
  if (!isWhole) {
    return Effect.timeoutOption(collected, excerptWait(left)).pipe(
      Effect.zipRight(Effect.suspend(() => textOf(pieces))),
      Effect.map((text) => isCoded ? "" : text.slice(0, excerptLength))
    )
  }
  return Effect.flatMap(collected, (outcome) => {
    if (outcome === "broken") return Effect.fail("broken" as const)
    return outcome === "cut" || isCoded ? Effect.succeed("") : textOf(pieces)
  })
}

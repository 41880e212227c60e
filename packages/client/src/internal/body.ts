/** Bodies of events, up to a limit. */

/** Maximum size of an event's body (1 MiB). */
export const maxBytes = 1_048_576

/** Reads the body. Stops and returns nothing if it is too large. */
export const readLimited = async ({ body }: Request): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  const pieces: Array<Uint8Array<ArrayBuffer>> = []
  let size = 0
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    pieces.push(next.value)
    size += next.value.length
    if (size > maxBytes) {
      await reader?.cancel()
      return undefined
    }
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

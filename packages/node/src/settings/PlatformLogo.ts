/** The file of the platform's logo. Its content decides its type, not its name. */
import { readFile, stat } from "node:fs/promises"
import * as Effect from "effect/Effect"
import type { Logo } from "@startlist/core/Platform"
import { whyNot } from "./Environment.ts"

/** Every new visitor loads it. */
const maxBytes = 100 * 1024

/** The first bytes of each type, as Latin-1. */
const signatures: ReadonlyArray<readonly [type: string, signature: RegExp]> = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["image/svg+xml", /^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--|!DOCTYPE svg|svg)[^]*<svg|^(?:\xef\xbb\xbf)?\s*<svg/i]
]

/** Reads a logo. The failure is one line that names the variable. */
export const readLogo = (path: string): Effect.Effect<Logo, string> => {
  const refuse = (problem: string) => Effect.fail(`PLATFORM_LOGO: the file ${path} ${problem}`)
  const attempt = <A>(read: () => Promise<A>) =>
    Effect.tryPromise({
      try: read,
      catch: (error) => `PLATFORM_LOGO: the file ${path} cannot be read (${whyNot(error)})`
    })
  return Effect.gen(function*() {
    const { size } = yield* attempt(() => stat(path))
    if (size > maxBytes) return yield* refuse(`has ${size} bytes. Use an image of at most ${maxBytes} bytes.`)
    const content = new Uint8Array(yield* attempt(() => readFile(path)))
    const text = Buffer.from(content).toString("latin1")
    const [type] = signatures.find(([, signature]) => signature.test(text)) ?? []
    return type === undefined
      ? yield* refuse("is not an image. Use an SVG, PNG, JPEG or WebP file.")
      : { type, content }
  })
}

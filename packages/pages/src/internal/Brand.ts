/** The platform on the pages: its name, links and icon, and a style sheet in its colour. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Platform } from "@startlist/core/Platform"
import { type Asset, icon, stylesheet } from "./assetFiles.ts"
import * as PlatformColor from "../PlatformColor.ts"

/** A file that the pages load. */
export interface File extends Omit<Asset, "text"> {
  readonly content: Uint8Array
}

export interface Brand {
  readonly name: string
  /** Whether `icon` is the logo of the platform. */
  readonly hasLogo: boolean
  readonly icon: File
  readonly stylesheet: File
  readonly support: string | undefined
  readonly privacyPolicy: string | undefined
  readonly guide: string | undefined
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const fileOf = ({ text, ...asset }: Asset): File => ({ ...asset, content: bytesOf(text) })

const versionOf = (content: Uint8Array): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", Uint8Array.from(content))),
    (digest) => [...new Uint8Array(digest, 0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  )

/** A file whose path has the version, below `/assets`. */
const makeFile = (path: string, type: string, content: Uint8Array): Effect.Effect<File> =>
  Effect.map(versionOf(content), (version) => ({
    path,
    type,
    content,
    version,
    url: path.replace("{version}", version)
  }))

const plain = { icon: fileOf(icon), stylesheet: fileOf(stylesheet) }

/** The brand of the platform. A colour with too little contrast is a defect. */
export const make: Effect.Effect<Brand> = Effect.gen(function*() {
  const { color, guide, logo, name, privacyPolicy, support } = yield* Platform
  const problem = Option.flatMap(color, PlatformColor.problemOf)
  if (Option.isSome(problem)) return yield* Effect.die(new TypeError(`color: ${problem.value}`))
  return {
    name,
    hasLogo: Option.isSome(logo),
    icon: yield* Option.match(logo, {
      onNone: () => Effect.succeed(plain.icon),
      onSome: ({ content, type }) => makeFile("/assets/logo.{version}", type, content)
    }),
    stylesheet: yield* Option.match(color, {
      onNone: () => Effect.succeed(plain.stylesheet),
      onSome: (color) =>
        makeFile(stylesheet.path, stylesheet.type, bytesOf(stylesheet.text + PlatformColor.styleOf(color)))
    }),
    support: Option.getOrUndefined(support),
    privacyPolicy: Option.getOrUndefined(privacyPolicy),
    guide: Option.getOrUndefined(guide)
  }
})

/** Context of a page beside its content. */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { MountedPaths } from "@startlist/http/MountedPaths"
import type { SignedIn } from "../Authentication.ts"
import type { Locale } from "./Locale.ts"

export interface Frame {
  readonly locale: Locale
  /** Path and query of the page for the browser, to which the language switch returns. */
  readonly here: string
  readonly signedIn: Option.Option<SignedIn>
  readonly signOutUrl: string
  /** The path under which the pages are mounted, or an empty text. */
  readonly base: string
  /** Whether this path (without `base`) has a page: an embedder need not mount all pages. */
  readonly has: (path: string) => boolean
}

/** Makes frames for this configuration. */
export const make: Effect.Effect<(frame: Omit<Frame, "base" | "has">) => Frame> = Effect.gen(function*() {
  const base = basePath(yield* HttpConfig)
  const { has } = yield* MountedPaths
  return (frame) => ({ ...frame, base, has })
})

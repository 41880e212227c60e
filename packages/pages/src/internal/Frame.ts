/** What a page needs to know besides what it shows. */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { basePath, HttpConfig } from "@startlist/http/HttpConfig"
import { MountedPaths } from "@startlist/http/MountedPaths"
import type { SignedIn } from "../Authentication.ts"
import type { Locale } from "./Locale.ts"

export interface Frame {
  readonly locale: Locale
  /** Path and query, as the browser knows them, to which the language switch comes back. */
  readonly here: string
  readonly signedIn: Option.Option<SignedIn>
  readonly signOutUrl: string
  /** What the path of every address of ours begins with: empty, or the path under which we are mounted. */
  readonly base: string
  /** Whether there is a page at a path of ours, given without `base`: an embedder need not mount them all. */
  readonly has: (path: string) => boolean
}

/** Makes frames for this place. */
export const make: Effect.Effect<(frame: Omit<Frame, "base" | "has">) => Frame> = Effect.gen(function*() {
  const base = basePath(yield* HttpConfig)
  const { has } = yield* MountedPaths
  return (frame) => ({ ...frame, base, has })
})

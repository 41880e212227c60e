/** Environment of the laws of callbacks: receivers and scripted resolvers. */
import type { Callbacks } from "@startlist/core/Callbacks"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

/**
 * Reply of a receiver: an answer after `afterMs`; `"hang"` for no answer; `"close"` for a closed connection; or `raw`
 * characters as bytes (latin1), after which the connection ends or stays open.
 */
export type Reply = "hang" | "close" | {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly afterMs?: number
} | { readonly raw: string; readonly ends: boolean }

/** A request as it arrived; header names in lower case. */
export interface Request {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** A real HTTP server that the callbacks can reach, on an address of its own. */
export interface Receiver {
  /** For example `http://127.0.0.1:4711/hook`. */
  readonly url: string
  /** Sets its reply. Initially 200. */
  readonly reply: (reply: Reply) => Effect.Effect<void>
  /** The requests that arrived, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Request>>
}

/** Callbacks whose resolver the law chooses. */
export interface Scripted {
  /** The callbacks over this resolver of names. They may reach the receivers. */
  readonly resolving: (resolve: (name: string) => Promise<ReadonlyArray<string>>) => Layer.Layer<Callbacks>
  /** Errors so far that would have ended the process: uncaught exceptions and unhandled rejections. */
  readonly escaped: Effect.Effect<ReadonlyArray<unknown>>
}

/** The port for requests to callbacks. An implementation makes one attempt and returns its answer. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"

/** Outcome of one request. `detail`: at most 200 characters, only texts that the callback sent or its owner knows. */
export type Answer = Data.TaggedEnum<{
  /** `body` is the beginning for a delivery (at most 200 characters), or all for a validation (at most 4 KiB). */
  Answered: {
    /** Milliseconds from the start of the attempt until the headers were complete. */
    readonly afterMs: number
    readonly status: number
    readonly contentType: string
    readonly body: string
    readonly retryAfter: Option.Option<Duration.Duration>
  }
  /** The deadline passed. */
  TimedOut: { readonly detail: string }
  /** No name, no connection, no TLS, no HTTP, or too large an answer. */
  Unreachable: { readonly detail: string }
  /** The address guard refused the target. Nothing was sent. */
  Forbidden: { readonly detail: string }
}>
export const Answer = Data.taggedEnum<Answer>()

/** Recorded outcomes of requests without an answer. */
export const outcomes = { TimedOut: "timeout", Unreachable: "unreachable", Forbidden: "forbidden_address" } as const

/** The answer to a request that fails by a bug of this service. */
export const broken: Answer = Answer.Unreachable({ detail: "internal error of the sender" })

/** Logs a bug that ended a request to a callback. */
export const reportBug = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.logError("a request to a callback failed by a bug of Startlist", cause)

/** Why a callback URL cannot be called: `international_name`, not ASCII; `characters`, not percent-encoded. */
export type UrlProblem = "invalid" | "international_name" | "trailing_dot" | "characters"

/** The validation GET (requirements §4.7). */
export interface Validation {
  readonly callbackUrl: string
  readonly challenge: string
  readonly verifyToken: Redacted.Redacted<string>
  readonly timeout: Duration.Duration
}

/** One attempt to deliver an event (requirements §6.3), signed as Standard Webhooks with each of `secrets`. */
export interface Post {
  readonly callbackUrl: string
  /** The `webhook-id`. */
  readonly id: string
  /** The `webhook-timestamp`: start of this attempt in whole seconds since 1970. */
  readonly timestamp: number
  /** JSON text. */
  readonly body: string
  /** The `startlist-sequence`. */
  readonly sequence: number
  /** `whsec_…`, newest first. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  /** The `traceparent` of the request that caused the event, or of this attempt if attempts are traced, too. */
  readonly trace: Option.Option<string>
  readonly timeout: Duration.Duration
}

/** Begins a request. Calls `done` once with the answer. The returned function cancels the request. */
export type Begin<In> = (request: In, done: (answer: Answer) => void) => () => void

/** An effect that begins a request and waits for its answer. Interruption cancels the request. */
export const awaiting = <In>(begin: Begin<In>) => (request: In): Effect.Effect<Answer> =>
  Effect.async((resume) => Effect.sync(begin(request, (answer) => resume(Effect.succeed(answer)))))

/** Begins requests that are effects, each in a fiber. A bug in one is logged and answered with `broken`. */
export const forking = (runtime: Runtime.Runtime<never>): Begin<Effect.Effect<Answer>> => {
  const runFork = Runtime.runFork(runtime)
  const answerOf = (exit: Exit.Exit<Answer>): Answer => {
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.isInterruptedOnly(exit.cause)) return Answer.TimedOut({ detail: "" })
    runFork(reportBug(exit.cause))
    return broken
  }
  return (request, done) => {
    const fiber = runFork(Effect.interruptible(request))
    fiber.addObserver((exit) => done(answerOf(exit)))
    return () => void runFork(Fiber.interruptFork(fiber))
  }
}

/** Ends a request at its deadline, and answers a bug of the implementation with `broken` (laws 5 and 9). */
export const within = (timeout: Duration.Duration) => (request: Effect.Effect<Answer>): Effect.Effect<Answer> =>
  // Interruptible, also in a caller that is not. Disconnected: do not wait for an implementation that cannot be interrupted.
  Effect.timeoutTo(Effect.interruptible(Effect.disconnect(Effect.catchAllCause(request, answerBroken))), {
    duration: timeout,
    onSuccess: (answer) => answer,
    onTimeout: () => Answer.TimedOut({ detail: "" })
  })

const answerBroken = (cause: Cause.Cause<never>): Effect.Effect<Answer> =>
  Cause.isInterruptedOnly(cause) ? Effect.failCause(cause) : Effect.as(reportBug(cause), broken)

/** Sends requests to callbacks. No method fails: each returns an `Answer` within `timeout`. */
export class Callbacks extends Context.Tag("@startlist/core/Callbacks")<Callbacks, Callbacks.Service>() {}

export declare namespace Callbacks {
  export interface Service {
    /** Sends the validation GET. */
    readonly validate: (validation: Validation) => Effect.Effect<Answer>
    /** Sends the POST of one attempt. */
    readonly deliver: (post: Post) => Effect.Effect<Answer>
    /** `deliver` without a fiber, which adds about 25 % to the cost. A wrapper of `deliver` must wrap or omit it. */
    readonly begin?: Begin<Post>
    /** Why a callback URL cannot be called at all: its scheme and form, not its address. None if it can. */
    readonly problem: (callbackUrl: string) => Option.Option<UrlProblem>
  }
}

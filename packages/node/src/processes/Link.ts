/**
 * Messages between the primary of a node and its members, as JSON over Node's channel. During a replacement, the
 * processes may have different versions.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const Key = Schema.Struct({
  value: Schema.String,
  limit: Schema.Struct({ name: Schema.String, count: Schema.Number, window: Schema.DurationFromMillis })
})

/** Takes attempts that the primary counts. The answer is a `Wait`. */
export const Take = Schema.TaggedStruct("Take", { keys: Schema.Array(Key) })

/** Gives attempts back. */
export const GiveBack = Schema.TaggedStruct("GiveBack", { keys: Schema.Array(Key) })

/** Milliseconds until an attempt is allowed. Null if the attempt was counted. */
export const Wait = Schema.NullOr(Schema.DurationFromMillis)

/** Asks for metrics: the primary has those of all members, a member its own. The answer is a `Page`. */
export const Metrics = Schema.TaggedStruct("Metrics", {})

/** Asks whether a member answers. Any answer will do. */
export const Beat = Schema.TaggedStruct("Beat", {})

/** Metrics as text. */
export const Page = Schema.Struct({ contentType: Schema.String, body: Schema.String })
export type Page = typeof Page.Type

/** A process has started to serve. `line` is its start line. */
export const Ready = Schema.TaggedStruct("Ready", { line: Schema.String })

/** Another process has the place: stop accepting connections, and exit when the present ones have closed. */
export const Retire = Schema.TaggedStruct("Retire", {})

/** The questions of members to the primary. */
export const Question = Schema.Union(Take, GiveBack, Metrics)

/** The other process did not answer: it has ended, is stuck, or has another version. */
export class NoAnswer extends Data.TaggedError("@startlist/node/NoAnswer") {}

/** One end of a channel: `process` or `cluster.Worker`. */
export interface End {
  readonly send: (message: object, onSent: (error: Error | null) => void) => unknown
  readonly on: (onMessage: (message: unknown) => void) => unknown
}

/** One end of an open channel. */
export interface Link {
  /** Waits at most `millis` for the answer. */
  readonly ask: (question: unknown, millis: number) => Effect.Effect<unknown, NoAnswer>
  /** Sends a message that has no answer. */
  readonly tell: (message: object) => void
}

const Asked = Schema.Struct({ asked: Schema.Number, question: Schema.Unknown })
const Answered = Schema.Struct({ answered: Schema.Number, answer: Schema.optional(Schema.Unknown) })

const decodeAsked = Schema.decodeUnknownOption(Asked)
const decodeAnswered = Schema.decodeUnknownOption(Answered)

/** Opens an end. `answer` answers questions of the other end; `onTold` gets messages that need no answer. */
export const open = (
  end: End,
  answer: (question: unknown) => Effect.Effect<unknown, unknown>,
  onTold: (message: unknown) => void
): Link => {
  const waiting = new Map<number, (answer: unknown) => void>()
  let last = 0
  // Ignore errors: the end of the other process is handled elsewhere.
  const tell = (message: object) => void end.send(message, () => {})
  end.on((message) => {
    const question = decodeAsked(message)
    if (Option.isSome(question)) {
      const { asked } = question.value
      Effect.runCallback(answer(question.value.question), {
        onExit: (exit) => tell({ answered: asked, answer: exit._tag === "Success" ? exit.value : undefined })
      })
      return
    }
    const answered = decodeAnswered(message)
    if (Option.isSome(answered)) waiting.get(answered.value.answered)?.(answered.value.answer)
    else onTold(message)
  })
  return {
    tell,
    ask: (question, millis) =>
      Effect.async((resume) => {
        const asked = ++last
        const stop = (): void => {
          clearTimeout(timer)
          waiting.delete(asked)
        }
        const settle = (given: unknown): void => {
          stop()
          resume(given === undefined ? new NoAnswer() : Effect.succeed(given))
        }
        // Not `Effect.timeout`: where an effect cannot be interrupted, as in a finalizer, that waits for the answer.
        const timer = setTimeout(() => settle(undefined), millis)
        waiting.set(asked, settle)
        tell({ asked, question })
        return Effect.sync(stop)
      })
  }
}

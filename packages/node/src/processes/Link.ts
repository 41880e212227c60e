/** Questions and answers between the primary of a node and its members, as JSON over Node's channel. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

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

const Question = Schema.Struct({ asked: Schema.Number, question: Schema.Unknown })
const Answer = Schema.Struct({ answered: Schema.Number, answer: Schema.optional(Schema.Unknown) })

const decodeQuestion = Schema.decodeUnknownOption(Question)
const decodeAnswer = Schema.decodeUnknownOption(Answer)

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
    const question = decodeQuestion(message)
    if (Option.isSome(question)) {
      const { asked } = question.value
      Effect.runCallback(answer(question.value.question), {
        onExit: (exit) => tell({ answered: asked, answer: exit._tag === "Success" ? exit.value : undefined })
      })
      return
    }
    const answered = decodeAnswer(message)
    if (Option.isSome(answered)) waiting.get(answered.value.answered)?.(answered.value.answer)
    else onTold(message)
  })
  return {
    tell,
    ask: (question, millis) =>
      Effect.async<unknown, NoAnswer>((resume) => {
        const asked = ++last
        waiting.set(asked, (given) => {
          waiting.delete(asked)
          resume(given === undefined ? new NoAnswer() : Effect.succeed(given))
        })
        tell({ asked, question })
        return Effect.sync(() => void waiting.delete(asked))
      }).pipe(Effect.timeoutFail({ duration: millis, onTimeout: () => new NoAnswer() }))
  }
}

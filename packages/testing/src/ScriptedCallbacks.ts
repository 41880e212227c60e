/** Receivers of events that do as they are told, in virtual time, and remember everything that they were sent. */
import { Answer, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** What a receiver does with one request. */
export type Reaction = Data.TaggedEnum<{
  /** Does what is asked: echoes the challenge, acknowledges the event. After `afterMs`, if given. */
  Comply: { readonly afterMs?: number }
  /** Answers with another status, perhaps asking for a pause of so many seconds. */
  Reject: { readonly status: number; readonly retryAfter?: number }
  /** Takes the connection and never answers. */
  Hang: {}
  /** Is not there. */
  Refuse: {}
  /** Answers 200 with a body of its own. */
  Say: { readonly body: string; readonly contentType?: string }
}>
export const Reaction = Data.taggedEnum<Reaction>()

/** One request that a receiver was sent. */
export interface Received {
  readonly kind: "validation" | "event"
  readonly callbackUrl: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly reaction: Reaction["_tag"]
  /** Empty for a validation. */
  readonly id: string
  readonly body: string
  readonly timestamp: number
  /** How many secrets signed it. */
  readonly signatures: number
}

export declare namespace ScriptedCallbacks {
  export interface Service {
    /** What this receiver does from now on, when nothing else is scripted. At first it complies. */
    readonly always: (callbackUrl: string, reaction: Reaction) => Effect.Effect<void>
    /** What it does with its next events, before it falls back to that. */
    readonly next: (callbackUrl: string, reactions: ReadonlyArray<Reaction>) => Effect.Effect<void>
    /** Everything that was sent, oldest first. */
    readonly received: Effect.Effect<ReadonlyArray<Received>>
  }
}

export class ScriptedCallbacks
  extends Context.Tag("@startlist/testing/ScriptedCallbacks")<ScriptedCallbacks, ScriptedCallbacks.Service>()
{}

const answered = (status: number, body: string, afterMs = 0, retryAfter?: number): Answer =>
  Answer.Answered({
    afterMs,
    status,
    contentType: "application/json",
    body,
    retryAfter: Option.map(Option.fromNullable(retryAfter), Duration.seconds)
  })

/** Carries a reaction out. `compliant` is the body that does what was asked. */
const carryOut = (reaction: Reaction, compliant: string): Effect.Effect<Answer> =>
  Reaction.$match(reaction, {
    Comply: ({ afterMs = 0 }) =>
      afterMs === 0
        ? Effect.succeed(answered(200, compliant))
        : Effect.as(Effect.sleep(afterMs), answered(200, compliant, afterMs)),
    Reject: ({ retryAfter, status }) => Effect.succeed(answered(status, "no", 0, retryAfter)),
    Hang: () => Effect.never,
    Refuse: () => Effect.succeed(Answer.Unreachable({ detail: "connection refused" })),
    Say: ({ body, contentType = "application/json" }) =>
      Effect.succeed(
        Answer.Answered({ afterMs: 0, status: 200, contentType, body, retryAfter: Option.none() })
      )
  })

const make = (): readonly [Callbacks.Service, ScriptedCallbacks.Service] => {
  const habits = new Map<string, Reaction>()
  const scripts = new Map<string, ReadonlyArray<Reaction>>()
  const received: Array<Received> = []

  const react = (kind: Received["kind"], callbackUrl: string): Reaction => {
    const [first, ...rest] = kind === "event" ? scripts.get(callbackUrl) ?? [] : []
    if (first !== undefined) scripts.set(callbackUrl, rest)
    return first ?? habits.get(callbackUrl) ?? Reaction.Comply({})
  }

  const receive = (request: Omit<Received, "at" | "reaction">, compliant: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const reaction = react(request.kind, request.callbackUrl)
      received.push({ ...request, at, reaction: reaction._tag })
      return carryOut(reaction, compliant)
    })

  return [
    {
      accepts: (callbackUrl) => /^https?:\/\/[^\s/]+/.test(callbackUrl),
      validate: ({ callbackUrl, challenge }: Validation) =>
        receive(
          { kind: "validation", callbackUrl, id: "", body: "", timestamp: 0, signatures: 0 },
          JSON.stringify({ "hub.challenge": challenge })
        ),
      deliver: ({ body, callbackUrl, id, secrets, timestamp }: Post) =>
        receive({ kind: "event", callbackUrl, id, body, timestamp, signatures: secrets.length }, "")
    },
    {
      always: (callbackUrl, reaction) => Effect.sync(() => void habits.set(callbackUrl, reaction)),
      next: (callbackUrl, reactions) => Effect.sync(() => void scripts.set(callbackUrl, reactions)),
      received: Effect.sync(() => [...received])
    }
  ]
}

/** The receivers, and the port through which the core reaches them. */
export const layer: Layer.Layer<Callbacks | ScriptedCallbacks> = Layer.effectContext(Effect.sync(() => {
  const [callbacks, control] = make()
  return Context.make(Callbacks, callbacks).pipe(Context.add(ScriptedCallbacks, control))
}))

/** Receivers of events with scripted behaviour, in virtual time, and a list of all requests that they received. */
import { Answer, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { never } from "./internal/eventLoop.ts"

/** Behaviour of a receiver for one request. */
export type Behaviour = Data.TaggedEnum<{
  /** Echoes the challenge or acknowledges the event, after `afterMs` if given. */
  Comply: { readonly afterMs?: number }
  /** Answers with another status. `retryAfter` is the value of `Retry-After` in seconds. */
  Reject: { readonly status: number; readonly retryAfter?: number }
  /** Accepts the connection and never answers. */
  Hang: {}
  /** Refuses the connection. */
  Refuse: {}
  /** Answers 200 with this body. */
  Say: { readonly body: string; readonly contentType?: string }
}>
export const Behaviour = Data.taggedEnum<Behaviour>()

/** One request that a receiver was sent. */
export interface Received {
  readonly kind: "validation" | "event"
  readonly callbackUrl: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly behaviour: Behaviour["_tag"]
  /** Empty for a validation. */
  readonly id: string
  readonly body: string
  readonly timestamp: number
  /** 0 for a validation. */
  readonly sequence: number
  /** Number of secrets that signed it. */
  readonly signatures: number
}

export declare namespace ScriptedCallbacks {
  export interface Service {
    /** Sets the default behaviour of a receiver. Initially it complies. */
    readonly always: (callbackUrl: string, behaviour: Behaviour) => Effect.Effect<void>
    /** Sets its behaviour for the next events. After them, the default applies. */
    readonly next: (callbackUrl: string, behaviours: ReadonlyArray<Behaviour>) => Effect.Effect<void>
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

/** Carries a behaviour out. `compliant` is the body of a receiver that complies. */
export const carryOut = (behaviour: Behaviour, compliant: string): Effect.Effect<Answer> =>
  Behaviour.$match(behaviour, {
    Comply: ({ afterMs = 0 }) =>
      afterMs === 0
        ? Effect.succeed(answered(200, compliant))
        : Effect.as(Effect.sleep(afterMs), answered(200, compliant, afterMs)),
    Reject: ({ retryAfter, status }) => Effect.succeed(answered(status, "no", 0, retryAfter)),
    Hang: () => never,
    Refuse: () => Effect.succeed(Answer.Unreachable({ detail: "connection refused" })),
    Say: ({ body, contentType = "application/json" }) =>
      Effect.succeed(Answer.Answered({ afterMs: 0, status: 200, contentType, body, retryAfter: Option.none() }))
  })

const make = (): readonly [Callbacks.Service, ScriptedCallbacks.Service] => {
  const defaults = new Map<string, Behaviour>()
  const scripts = new Map<string, ReadonlyArray<Behaviour>>()
  const received: Array<Received> = []

  const behaviourOf = (kind: Received["kind"], callbackUrl: string): Behaviour => {
    const [first, ...rest] = kind === "event" ? scripts.get(callbackUrl) ?? [] : []
    if (first !== undefined) scripts.set(callbackUrl, rest)
    return first ?? defaults.get(callbackUrl) ?? Behaviour.Comply({})
  }

  const receive = (request: Omit<Received, "at" | "behaviour">, compliant: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const behaviour = behaviourOf(request.kind, request.callbackUrl)
      received.push({ ...request, at, behaviour: behaviour._tag })
      return carryOut(behaviour, compliant)
    })

  return [
    {
      problem: (callbackUrl) => /^https?:\/\/[^\s/]+/.test(callbackUrl) ? Option.none() : Option.some("invalid"),
      validate: ({ callbackUrl, challenge }: Validation) =>
        receive(
          { kind: "validation", callbackUrl, id: "", body: "", timestamp: 0, sequence: 0, signatures: 0 },
          JSON.stringify({ "hub.challenge": challenge })
        ),
      deliver: ({ body, callbackUrl, id, secrets, sequence, timestamp }: Post) =>
        receive({ kind: "event", callbackUrl, id, body, timestamp, sequence, signatures: secrets.length }, "")
    },
    {
      always: (callbackUrl, behaviour) => Effect.sync(() => void defaults.set(callbackUrl, behaviour)),
      next: (callbackUrl, behaviours) => Effect.sync(() => void scripts.set(callbackUrl, behaviours)),
      received: Effect.sync(() => [...received])
    }
  ]
}

/** The receivers, and the port through which the core reaches them. */
export const layer: Layer.Layer<Callbacks | ScriptedCallbacks> = Layer.effectContext(Effect.sync(() => {
  const [callbacks, control] = make()
  return Context.make(Callbacks, callbacks).pipe(Context.add(ScriptedCallbacks, control))
}))

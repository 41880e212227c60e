/**
 * Delivers events to an application's own handler, in exactly the requests that the service sends. Adds the faults of
 * a real network: events arrive twice or late, the application is unreachable, answers are lost.
 *
 * ```ts
 * const callbacks = ApplicationReceiver.layer((request) => application.handleWebhook(request))
 * ```
 */
import { Answer, Callbacks, type Post, type Validation } from "@startlist/core/Callbacks"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as FaultPlan from "./internal/faultPlan.ts"
import * as Promises from "./Promises.ts"
import * as WebhookRequest from "./WebhookRequest.ts"

export type { Chance, Control } from "./internal/faultPlan.ts"

/** One way in which one delivery goes wrong. The service waits for an answer for two seconds. */
export type Fault = Data.TaggedEnum<{
  /**
   * The handler gets the request a second time, `by` later (default: immediately). The service gets the first answer.
   */
  Twice: { readonly by?: Duration.DurationInput }
  /** The handler gets the request `by` later, also if the service has given up and sent it again. */
  Late: { readonly by: Duration.DurationInput }
  /** The handler does not get the request, and the service sees no connection. */
  Unreachable: {}
  /** The handler gets the request, and the service sees a timeout. */
  AnswerLost: {}
}>
export const Fault = Data.taggedEnum<Fault>()

/** One fault of each kind. A late event arrives after its retry. */
export const anyFault: ReadonlyArray<Fault> = [
  Fault.Twice({}),
  Fault.Twice({ by: "20 seconds" }),
  Fault.Late({ by: "20 seconds" }),
  Fault.Unreachable(),
  Fault.AnswerLost()
]

/** One delivery that the handler got. */
export interface Received {
  readonly callbackUrl: string
  /** The `webhook-id`. */
  readonly id: string
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** The status of the handler's answer: 500 if it threw, undefined while it works. */
  readonly status: number | undefined
}

export declare namespace ApplicationReceiver {
  export interface Service extends FaultPlan.Control<Fault> {
    /** The application cannot be reached from now on, by deliveries or validations. */
    readonly unreachableFor: (duration: Duration.DurationInput) => Effect.Effect<void>
    /** The deliveries that the handler got, oldest first. */
    readonly received: Effect.Effect<ReadonlyArray<Received>>
  }
}

export class ApplicationReceiver
  extends Context.Tag("@startlist/testing/ApplicationReceiver")<ApplicationReceiver, ApplicationReceiver.Service>()
{}

type Handle = (request: Request) => Effect.Effect<Response, unknown>

const unreachable = Answer.Unreachable({ detail: "connection refused" })
const timedOut = Answer.TimedOut({ detail: "" })

/** The core reads the beginning of an answer to a delivery, and the whole answer to a validation. */
const read = (text: string, kind: "event" | "validation"): string =>
  kind === "event" ? text.slice(0, 200) : text.length > 4096 ? "" : text

const retryAfter = ({ headers }: Response): Option.Option<Duration.Duration> =>
  Option.map(
    Option.filter(Option.fromNullable(headers.get("retry-after")), (text) => /^\d{1,9}$/.test(text)),
    (text) => Duration.seconds(Number(text))
  )

/** A server answers 500 for a handler that throws. */
const respond = (handle: Handle, request: Request): Effect.Effect<Response> =>
  Effect.catchAllCause(
    handle(request),
    (cause) => Effect.as(Effect.logError("the handler failed", Cause.squash(cause)), new Response("", { status: 500 }))
  )

const toAnswer = (response: Response, kind: "event" | "validation", afterMs: number): Effect.Effect<Answer> =>
  Effect.map(Promises.run(() => response.text()), (text) =>
    Answer.Answered({
      afterMs,
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      body: read(text, kind),
      retryAfter: retryAfter(response)
    }))

/** Waits for the answer, no longer than the service waits. The handler continues after that. */
const waitFor = (answering: Effect.Effect<Answer>, timeout: Duration.Duration): Effect.Effect<Answer> =>
  Effect.flatMap(Effect.forkDaemon(answering), (fiber) =>
    Effect.timeoutTo(Fiber.join(fiber), {
      duration: timeout,
      onSuccess: (answer) => answer,
      onTimeout: () => timedOut
    }))

const make = (handle: Handle, chance: FaultPlan.Chance<Fault> | undefined) => {
  const { control, decide } = FaultPlan.make(chance)
  const received: Array<Received> = []
  let reachableAt = Number.NEGATIVE_INFINITY

  const isUnreachable = Effect.map(Clock.currentTimeMillis, (now) => now < reachableAt)

  const validate = ({ callbackUrl, challenge, timeout, verifyToken }: Validation): Effect.Effect<Answer> =>
    Effect.gen(function*() {
      if (yield* isUnreachable) return unreachable
      const message = { callbackUrl, challenge, verifyToken: Redacted.value(verifyToken) }
      const began = yield* Clock.currentTimeMillis
      const response = yield* respond(handle, WebhookRequest.validation(message))
      return yield* toAnswer(response, "validation", (yield* Clock.currentTimeMillis) - began)
    }).pipe((answering) => waitFor(answering, timeout))

  const arrive = ({ secrets, ...post }: Post): Effect.Effect<Answer> =>
    Effect.gen(function*() {
      const message = { ...post, secrets: secrets.map(Redacted.value) }
      const request = yield* Promises.run(() => WebhookRequest.event(message))
      const at = yield* Clock.currentTimeMillis
      const { body, callbackUrl, id } = post
      const place = received.push({ callbackUrl, id, body, at, status: undefined }) - 1
      const response = yield* respond(handle, request)
      received[place] = { callbackUrl, id, body, at, status: response.status }
      return yield* toAnswer(response, "event", (yield* Clock.currentTimeMillis) - at)
    })

  const deliver = (post: Post): Effect.Effect<Answer> =>
    Effect.gen(function*() {
      if (yield* isUnreachable) return unreachable
      const fault = decide(post.callbackUrl)
      const { timeout } = post
      if (fault === undefined) return yield* waitFor(arrive(post), timeout)
      return yield* Fault.$match(fault, {
        Twice: ({ by = 0 }) =>
          Effect.zipRight(
            Effect.forkDaemon(Effect.delay(arrive(post), by)),
            waitFor(arrive(post), timeout)
          ),
        Late: ({ by }) => waitFor(Effect.delay(arrive(post), by), timeout),
        Unreachable: () => Effect.succeed(unreachable),
        AnswerLost: () => Effect.as(Effect.zipRight(Effect.forkDaemon(arrive(post)), Effect.sleep(timeout)), timedOut)
      })
    })

  const service: ApplicationReceiver.Service = {
    ...control,
    unreachableFor: (duration) =>
      Effect.map(Clock.currentTimeMillis, (now) => void (reachableAt = now + Duration.toMillis(duration))),
    received: Effect.sync(() => [...received])
  }
  const problem: Callbacks.Service["problem"] = (callbackUrl) =>
    /^https?:\/\/[^\s/]+/.test(callbackUrl) ? Option.none() : Option.some("invalid")
  return Context.make(Callbacks, { deliver, problem, validate }).pipe(Context.add(ApplicationReceiver, service))
}

/** A handler of Web requests. Without `chance`, faults come by script only. */
export const layer = (
  handler: (request: Request) => Promise<Response>,
  chance?: FaultPlan.Chance<Fault>
): Layer.Layer<Callbacks | ApplicationReceiver> =>
  layerEffect((request) => Promises.run(() => handler(request)), chance)

/** A handler that is an effect. Without `chance`, faults come by script only. */
export const layerEffect = <E, R>(
  handler: (request: Request) => Effect.Effect<Response, E, R>,
  chance?: FaultPlan.Chance<Fault>
): Layer.Layer<Callbacks | ApplicationReceiver, never, R> =>
  Layer.effectContext(
    Effect.map(Effect.context<R>(), (context) =>
      make((request) => Effect.provide(Effect.suspend(() => handler(request)), context), chance))
  )

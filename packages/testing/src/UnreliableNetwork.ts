/**
 * A network between an application and the service that loses, delays and repeats requests and answers: a `fetch` over
 * the service's Web handler, in one process.
 *
 * ```ts
 * const network = yield* UnreliableNetwork.make(handler, { seed: 7, probability: 0.2, faults: UnreliableNetwork.anyFault })
 * const application = makeApplication({ fetch: network.fetch })
 * ```
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as FaultPlan from "./internal/faultPlan.ts"
import * as Promises from "./Promises.ts"

export type { Chance, Control } from "./internal/faultPlan.ts"

/** A server as a function, such as the handler of `WebHttp`. */
export type Handler = (request: Request) => Promise<Response>

/** A fault of one request. */
export type Fault = Data.TaggedEnum<{
  /** The service never gets the request. The client sees a broken connection. */
  RequestLost: {}
  /** The service handles the request. The client sees a broken connection. */
  AnswerLost: {}
  /** The service gets the request `by` later, also if the client has given up. */
  Delayed: { readonly by: Duration.DurationInput }
  /** The service handles the request immediately. The client gets the answer `by` later. */
  AnswerDelayed: { readonly by: Duration.DurationInput }
  /** The service handles the request twice. The client gets the second answer, as from a proxy that tries again. */
  Repeated: {}
}>
export const Fault = Data.taggedEnum<Fault>()

/** One fault of each kind. Delays of ten seconds. */
export const anyFault: ReadonlyArray<Fault> = [
  Fault.RequestLost(),
  Fault.AnswerLost(),
  Fault.Delayed({ by: "10 seconds" }),
  Fault.AnswerDelayed({ by: "10 seconds" }),
  Fault.Repeated()
]

/** One request of the client. */
export interface Sent {
  readonly method: string
  readonly url: string
  readonly fault: Fault["_tag"] | undefined
}

export interface UnreliableNetwork extends FaultPlan.Control<Fault> {
  /** In place of the global `fetch`. It follows no redirects, and the handler gets requests to any origin. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** All requests of the client, oldest first. */
  readonly sent: Effect.Effect<ReadonlyArray<Sent>>
}

/** The connection ended without an answer. */
class Lost extends Data.TaggedError("@startlist/testing/Lost")<{ readonly message: string }> {}

/** Sends a request with a fault. Returns the answer that the client gets. */
const carry = (fault: Fault | undefined, send: () => Promise<Response>): Effect.Effect<Response, Lost> => {
  const answer = Effect.promise(send)
  if (fault === undefined) return answer
  return Fault.$match(fault, {
    RequestLost: () => new Lost({ message: "the request was lost" }),
    AnswerLost: () => Effect.zipRight(answer, new Lost({ message: "the answer was lost" })),
    Delayed: ({ by }) => Effect.flatMap(Effect.forkDaemon(Effect.zipRight(Promises.sleep(by), answer)), Fiber.join),
    AnswerDelayed: ({ by }) => Effect.zipLeft(answer, Promises.sleep(by)),
    Repeated: () => Effect.zipRight(answer, answer)
  })
}

/** A network to this handler. Its delays pass on the present clock. Without `chance`, faults come by script only. */
export const make = (handler: Handler, chance?: FaultPlan.Chance<Fault>): Effect.Effect<UnreliableNetwork> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    const { control, decide } = FaultPlan.make(chance)
    const sent: Array<Sent> = []
    const runPromiseExit = Runtime.runPromiseExit(runtime)
    return {
      ...control,
      sent: Effect.sync(() => [...sent]),
      fetch: async (input, init) => {
        const request = new Request(input, init)
        const { headers, method, signal, url } = request
        const fault = decide(url)
        sent.push({ method, url, fault: fault?._tag })
        const body = request.body === null ? null : await request.arrayBuffer()
        // Without the client's signal: a request that was sent arrives, also if the client gives up.
        const send = () => handler(new Request(url, { method, headers, body }))
        const exit = await runPromiseExit(carry(fault, send), { signal })
        if (Exit.isSuccess(exit)) return exit.value
        if (signal.aborted) throw signal.reason
        throw new TypeError("fetch failed", { cause: Cause.squash(exit.cause) })
      }
    }
  })

/** Planned faults: of the responses to the application, which are recorded, and of the events. */
import { Answer, Callbacks, type Post } from "@startlist/core/Callbacks"
import type { Block } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { DeliveryFault, NextResponses, RecordedRequest, ResponseFault } from "./Controls.ts"

interface Planned {
  readonly fault: ResponseFault
  readonly path: string | undefined
  readonly delay: number
}

/** Maximum number of recorded requests. The newest are stored. */
const maxRecorded = 1000

/** An empty record without planned faults. */
export const makeTraffic = () => {
  const recorded: Array<RecordedRequest> = []
  const planned: Array<Planned> = []
  return {
    recorded,
    record: (request: RecordedRequest): void => {
      recorded.push(request)
      if (recorded.length > maxRecorded) recorded.shift()
    },
    next: ({ count = 1, delay = 3000, fault, path }: NextResponses): void => {
      for (let i = 0; i < count; i++) planned.push({ delay, fault, path })
    },
    clear: (): void => void planned.splice(0),
    /** Takes the next planned fault for this path. */
    take: (path: string): Planned | undefined => {
      const place = planned.findIndex((one) => one.path === undefined || one.path === path)
      return place < 0 ? undefined : planned.splice(place, 1)[0]
    }
  }
}

/** The record, and the planned faults of responses. */
export type Traffic = ReturnType<typeof makeTraffic>

/** Requests to callbacks. */
export interface Receivers {
  readonly layer: Layer.Layer<Callbacks>
  /** A fault of the next events that have not been attempted yet. */
  readonly next: (fault: DeliveryFault, count: number) => void
  readonly clear: () => void
  /** Number of requests to callbacks without a response yet. */
  readonly inFlight: () => number
}

const lost = Answer.Unreachable({ detail: "the fake has lost this attempt" })

/** Whom the fake calls, and how it signs. */
export interface ReceiverOptions {
  /** Addresses of receivers, and no others. */
  readonly allow: ReadonlyArray<Block>
  /** The time in milliseconds since 1970 for the `webhook-timestamp`. */
  readonly signsAt: () => number
}

/** Callbacks without planned faults. */
export const makeReceivers = ({ allow, signsAt }: ReceiverOptions): Receivers => {
  const waiting: Array<DeliveryFault> = []
  /** By event. */
  const faults = new Map<string, DeliveryFault | undefined>()
  /** Events with an attempt, by subscription: the body names it. */
  const attempted = new Set<string>()
  let running = 0

  /** The fault of this attempt. Chosen at the first attempt of an event, and the same for each application. */
  const faultOf = ({ body, id }: Post): DeliveryFault | undefined => {
    if (!faults.has(id)) faults.set(id, waiting.shift())
    const fault = faults.get(id)
    const isFirst = !attempted.has(`${id} ${body}`)
    attempted.add(`${id} ${body}`)
    return isFirst || fault === "never" ? fault : undefined
  }

  const layer = Layer.map(
    Dispatcher.layerWith({ allow, onlyAllowed: true, userAgent: "Startlist-Fake" }),
    (context) => {
      const { deliver: send, problem, validate } = Context.get(context, Callbacks)
      const deliver = (post: Post) => send({ ...post, timestamp: Math.floor(signsAt() / 1000) })
      return Context.make(Callbacks, {
        problem,
        validate,
        deliver: (post) =>
          Effect.suspend(() => {
            running++
            switch (faultOf(post)) {
              case "twice":
                return Effect.zipRight(deliver(post), deliver(post))
              case "late":
              case "never":
                return Effect.succeed(lost)
              default:
                return deliver(post)
            }
          }).pipe(Effect.ensuring(Effect.sync(() => running--)))
      })
    }
  )
  return {
    layer,
    next: (fault, count) => void waiting.push(...Array.from({ length: count }, () => fault)),
    clear: () => void waiting.splice(0),
    inFlight: () => running
  }
}

/** Sends requests to callbacks, with planned faults. */
import { Answer, Callbacks } from "@startlist/core/Callbacks"
import * as AddressGuard from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** `twice`: it arrives two times. `late`: its first attempt does not arrive. `never`: none does. */
export const deliveryFaults = ["twice", "late", "never"] as const
export type DeliveryFault = typeof deliveryFaults[number]

export interface Receivers {
  readonly layer: Layer.Layer<Callbacks>
  /** A fault of the next events that have not been attempted yet. */
  readonly next: (fault: DeliveryFault, count: number) => void
  readonly clear: () => void
  /** Number of requests to callbacks without a response yet. */
  readonly inFlight: () => number
}

/** This machine and private networks, where the application under test runs. */
const privateNetworks = ["127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]

const lost = Answer.Unreachable({ detail: "the fake has lost this attempt" })

export const make = (): Receivers => {
  const waiting: Array<DeliveryFault> = []
  /** By event. */
  const faults = new Map<string, DeliveryFault | undefined>()
  let running = 0

  /** The fault of this attempt. Chosen at the first attempt of an event, and the same for the others. */
  const faultOf = (event: string): DeliveryFault | undefined => {
    if (!faults.has(event)) {
      const fault = waiting.shift()
      faults.set(event, fault)
      return fault
    }
    return faults.get(event) === "never" ? "never" : undefined
  }

  const allow = privateNetworks.flatMap((cidr) => Option.toArray(AddressGuard.parseBlock(cidr)))
  const layer = Layer.map(Dispatcher.layerWith({ allow, userAgent: "Startlist-Fake" }), (context) => {
    const { accepts, deliver, validate } = Context.get(context, Callbacks)
    return Context.make(Callbacks, {
      accepts,
      validate,
      deliver: (post) =>
        Effect.suspend(() => {
          running++
          switch (faultOf(post.id)) {
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
  })
  return {
    layer,
    next: (fault, count) => void waiting.push(...Array.from({ length: count }, () => fault)),
    clear: () => void waiting.splice(0),
    inFlight: () => running
  }
}

/** The receivers of events, each with its behaviour. */
import type { Answer, Callbacks } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import { currentCall } from "./Oracle.ts"
import { chance } from "@startlist/testing/internal/hashes"
import { Behaviour, carryOut } from "@startlist/testing/ScriptedCallbacks"
import type { NetworkFault } from "./plan.ts"
import type { SimulationContext } from "./context.ts"

/** Whether a receiver complies without delay. */
const isCompliant = (behaviour: Behaviour = Behaviour.Comply({})) =>
  behaviour._tag === "Comply" && behaviour.afterMs === undefined

export class Receivers {
  readonly #context: SimulationContext
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #networkFaults: Array<{ readonly url: string; readonly network: NetworkFault; left: number }> = []

  constructor(context: SimulationContext) {
    this.#context = context
  }

  setBehaviour(url: string, behaviour: Behaviour): void {
    this.#behaviours.set(url, behaviour)
    this.#context.goodSince.set(url, isCompliant(behaviour) ? this.#context.history.now() : Infinity)
  }

  addNetworkFault(url: string, network: NetworkFault, count: number): void {
    this.#networkFaults.push({ url, network, left: count })
  }

  /** Ends all faults. */
  heal(): void {
    this.#networkFaults.splice(0)
    for (const url of this.#behaviours.keys()) this.setBehaviour(url, Behaviour.Comply({}))
  }

  isGood(url: string): boolean {
    return isCompliant(this.#behaviours.get(url)) && !this.#networkFaults.some((one) => one.url === url)
  }

  #networkFault(url: string): NetworkFault {
    const found = this.#networkFaults.find((one) => one.url === url)
    if (found === undefined) return "none"
    if (--found.left <= 0) this.#networkFaults.splice(this.#networkFaults.indexOf(found), 1)
    if (this.isGood(url)) this.#context.goodSince.set(url, this.#context.history.now())
    this.#context.history.count("callback faults")
    return found.network
  }

  /** One request and its answer. `arrived` runs when the sender gets the answer. */
  #exchange(url: string, compliant: string, arrived: (answer: Answer) => void) {
    const { history, seed, time, wire } = this.#context
    const network = this.#networkFault(url)
    const behaviour = this.#behaviours.get(url) ?? Behaviour.Comply({})
    const draw = chance(seed, history.now(), url.charCodeAt("https://app".length))
    const began = history.now()
    return Effect.gen(function*() {
      const reply = yield* Deferred.make<Answer>()
      const travel = Effect.sleep(Duration.millis(1 + Math.floor(10 * draw)))
      const carried = Effect.gen(function*() {
        yield* travel
        if (network === "request lost") return
        history.record(`${url} receives a request (${behaviour._tag})${network === "none" ? "" : `: ${network}`}`)
        const response = yield* Effect.delay(carryOut(behaviour, compliant), 5 + Math.floor(100 * draw))
        if (network === "answer lost") return
        yield* travel
        const answer = response._tag === "Answered" ? { ...response, afterMs: history.now() - began } : response
        arrived(answer)
        yield* Deferred.succeed(reply, answer)
      })
      yield* time.on(wire)(Effect.forkDaemon(carried))
      return yield* Deferred.await(reply)
    })
  }

  /** The receivers, as the port through which one node reaches them. */
  reachedFrom(holder: object, crashing: <A>(call: Effect.Effect<A>) => Effect.Effect<A>): Callbacks.Service {
    const { attempts } = this.#context
    return {
      problem: (url) => url.startsWith("https://") ? Option.none() : Option.some("invalid"),
      validate: ({ callbackUrl: url, challenge }) =>
        crashing(Effect.flatMap(FiberRef.get(currentCall), (call) => {
          const compliant = JSON.stringify({ "hub.challenge": challenge })
          return this.#exchange(url, compliant, (answer) => {
            if (call === undefined || answer._tag !== "Answered") return
            const { afterMs, body, status } = answer
            call.isProven = status === 200 && body === compliant && afterMs <= 2_000
          })
        })),
      deliver: ({ body, callbackUrl: url, id, sequence }) =>
        crashing(Effect.flatMap(Clock.currentTimeMillis, (senderAt) => {
          const sent = attempts.sent({ id, body, sequence, callbackUrl: url, senderAt }, holder)
          return this.#exchange(url, "", (answer) => {
            if (answer._tag === "Answered") sent.answer = answer
          })
        }))
    }
  }
}

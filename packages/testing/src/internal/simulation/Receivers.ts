/** The receivers of events, each with its behaviour. */
import { Answer, type Callbacks } from "@startlist/core/Callbacks"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { chance } from "../fingerprint.ts"
import type { Behaviour, NetworkFault } from "./plan.ts"
import type { SimulationContext } from "./context.ts"

/** Where the events of an application go. */
export const callbackUrl = (application: number): string => `https://application-${application}.example.test/hook`

/** The response of a receiver, and its delay. */
interface Response {
  readonly afterMs: number
  readonly status: number
  readonly retryAfterSeconds?: number
}

const respond = (behaviour: Behaviour, draw: number): Response | "nothing" | "refused" => {
  const soon = 5 + Math.floor(draw * 100)
  switch (behaviour) {
    case "answers":
    case "answers another challenge":
      return { afterMs: soon, status: 200 }
    case "answers at the last moment":
      return { afterMs: 1_975, status: 200 }
    case "answers too late":
      return { afterMs: 2_001 + Math.floor(draw * 1_000), status: 200 }
    case "hangs":
      return "nothing"
    case "is gone":
      return "refused"
    case "fails":
      return { afterMs: soon, status: 500 }
    case "asks to wait":
      return { afterMs: soon, status: 503, retryAfterSeconds: 90 }
    case "wavers":
      return { afterMs: soon, status: draw < 0.5 ? 200 : 500 }
    case "says 204":
      return { afterMs: soon, status: 204 }
    case "redirects":
      return { afterMs: soon, status: 302 }
  }
}

/** Body and content type of an answer to a challenge; some look nearly right. */
const wrongAnswers: ReadonlyArray<(challenge: string) => readonly [body: string, contentType: string]> = [
  (challenge) => [JSON.stringify({ "hub.challenge": `${challenge}x` }), "application/json"],
  (challenge) => [JSON.stringify({ "hub.challenge": challenge, ok: true }), "application/json"],
  (challenge) => [JSON.stringify({ "hub.challenge": challenge }), "text/html"],
  (challenge) => [challenge, "application/json"],
  () => ["{}", "application/json"]
]

export class Receivers {
  readonly #context: SimulationContext
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #networkFaults: Array<{ readonly url: string; readonly network: NetworkFault; left: number }> = []
  #requests = 0

  constructor(context: SimulationContext) {
    this.#context = context
  }

  setBehaviour(url: string, behaviour: Behaviour): void {
    this.#behaviours.set(url, behaviour)
    this.#context.goodSince.set(url, behaviour === "answers" ? this.#context.history.now() : Infinity)
  }

  addNetworkFault(url: string, network: NetworkFault, count: number): void {
    this.#networkFaults.push({ url, network, left: count })
  }

  /** Nothing stands in the way any more. */
  heal(): void {
    this.#networkFaults.splice(0)
    for (const url of this.#behaviours.keys()) this.setBehaviour(url, "answers")
  }

  isGood(url: string): boolean {
    return (this.#behaviours.get(url) ?? "answers") === "answers" && !this.#networkFaults.some((one) => one.url === url)
  }

  #networkFault(url: string): NetworkFault {
    const found = this.#networkFaults.find((one) => one.url === url)
    if (found === undefined) return "none"
    if (--found.left <= 0) this.#networkFaults.splice(this.#networkFaults.indexOf(found), 1)
    if (this.isGood(url)) this.#context.goodSince.set(url, this.#context.history.now())
    this.#context.history.count("callback faults")
    return found.network
  }

  /** One request and its answer; `arrived` learns what comes back to the sender, at that moment. */
  #exchange(url: string, compliant: string, challenge: string | undefined, arrived: (answer: Answer) => void) {
    const { history, seed, time, wire } = this.#context
    const network = this.#networkFault(url)
    const behaviour = this.#behaviours.get(url) ?? "answers"
    const request = ++this.#requests
    const draw = chance(seed, history.now(), url.charCodeAt("https://application-".length))
    const began = history.now()
    return Effect.gen(function*() {
      const reply = yield* Deferred.make<Answer>()
      const travel = Effect.sleep(Duration.millis(1 + Math.floor(10 * draw)))
      const carried = Effect.gen(function*() {
        yield* travel
        if (network === "request lost") return
        history.record(`${url} receives a request (${behaviour})${network === "none" ? "" : `: ${network}`}`)
        const response = respond(behaviour, draw)
        if (response === "nothing") return
        if (response !== "refused") yield* Effect.sleep(response.afterMs)
        if (network === "answer lost") return
        yield* travel
        const wrong = challenge !== undefined && behaviour === "answers another challenge"
          ? wrongAnswers[request % wrongAnswers.length]?.(challenge)
          : undefined
        const [body, contentType] = wrong ?? [compliant, "application/json"]
        const answer = response === "refused" ? Answer.Unreachable({ detail: "connection refused" }) : Answer.Answered({
          afterMs: history.now() - began,
          status: response.status,
          contentType,
          body,
          retryAfter: Option.map(Option.fromNullable(response.retryAfterSeconds), Duration.seconds)
        })
        arrived(answer)
        yield* Deferred.succeed(reply, answer)
      })
      yield* time.on(wire)(Effect.forkDaemon(carried))
      return yield* Deferred.await(reply)
    })
  }

  /** The receivers, as the port through which one node reaches them. */
  reachedFrom(holder: object, crashing: <A>(call: Effect.Effect<A>) => Effect.Effect<A>): Callbacks.Service {
    const { attempts, subscriptions } = this.#context
    return {
      accepts: (url) => url.startsWith("https://"),
      validate: ({ callbackUrl: url, challenge }) =>
        crashing(Effect.suspend(() => {
          const compliant = JSON.stringify({ "hub.challenge": challenge })
          return this.#exchange(url, compliant, challenge, (answer) => {
            if (
              answer._tag === "Answered" && answer.status === 200 && answer.body === compliant &&
              answer.contentType === "application/json" && answer.afterMs <= 2_000
            ) subscriptions.proved(url)
          })
        })),
      deliver: ({ body, callbackUrl: url, id }) =>
        crashing(Effect.flatMap(Clock.currentTimeMillis, (senderAt) => {
          const sent = attempts.sent({ id, body, callbackUrl: url, senderAt }, holder)
          return this.#exchange(url, "", undefined, (answer) => {
            if (answer._tag === "Answered") sent.answer = answer
          })
        }))
    }
  }
}

/** Checks a callback as the service would: through the address guard, with the validation of a subscription. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Answer, Callbacks, type UrlProblem } from "@startlist/core/Callbacks"
import { Policy } from "@startlist/core/Policy"
import { Secrets } from "@startlist/core/Secrets"
import { validate, type ValidationFailed } from "@startlist/core/Subscription"
import { parseBlock } from "@startlist/dispatcher/AddressGuard"
import * as Dispatcher from "@startlist/dispatcher/Dispatcher"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import { bad, type Finding, good, warning } from "./Finding.ts"
import type { Configuration } from "../settings/Configuration.ts"

const what = "callback"

const contract = "it must answer within 2 s with 200, application/json and {\"hub.challenge\": the challenge}"

const refusals: Readonly<Record<ValidationFailed["reason"], string>> = {
  unreachable: "it cannot be reached",
  forbidden_address: "its address is not allowed",
  timeout: "too late",
  wrong_status: "the status is not 200",
  wrong_content_type: "the content type is not application/json",
  wrong_body: "the body is not the challenge"
}

const urlProblems: Readonly<Record<UrlProblem, readonly [problem: string, advice: string]>> = {
  invalid: ["must be https, or http within CALLBACK_ALLOW", "use an https URL without user and fragment"],
  international_name: ["has an international name", "write it in its ASCII form (xn--…)"],
  trailing_dot: ["has a dot at the end of its host", "remove it"],
  characters: ["has a character that a URL cannot contain", "encode it with a percent sign"]
}

const describe = (answer: Answer, challenge: string): Finding =>
  Answer.$match(answer, {
    Answered: ({ afterMs, status }) => {
      const seen = `answered with ${status} after ${Math.round(afterMs)} ms`
      return Either.match(validate(answer, challenge), {
        onLeft: ({ reason }) => warning(what, `${seen}: ${refusals[reason]}`, contract),
        onRight: () => good(what, `${seen}, with the challenge`)
      })
    },
    TimedOut: ({ detail }) => bad(what, `did not answer in time${detail === "" ? "" : `: ${detail}`}`, contract),
    Unreachable: ({ detail }) =>
      bad(
        what,
        `cannot be reached: ${detail}`,
        "check its host name, port and certificate, and whether this network allows outgoing requests"
      ),
    Forbidden: ({ detail }) =>
      bad(
        what,
        `is not allowed, see CALLBACK_ALLOW: ${detail}`,
        "if it is meant to be on your network, add its address range to CALLBACK_ALLOW"
      )
  })

const layer = ({ callbackAllow, policy }: Configuration) =>
  Layer.mergeAll(
    Dispatcher.layerWith({ allow: callbackAllow.flatMap((cidr) => Option.toArray(parseBlock(cidr))) }),
    NodeSecrets.layerDrawn,
    Layer.succeed(Policy, policy)
  )

/** Sends one validation request with a random challenge. Nothing is stored. */
export const checkCallback = (configuration: Configuration, callbackUrl: string): Effect.Effect<Finding> =>
  Effect.gen(function*() {
    const callbacks = yield* Callbacks
    const { callbackTimeout: timeout } = yield* Policy
    if (callbackUrl.length > 255) return bad(what, "is longer than 255 characters", "use a shorter URL")
    const problem = Option.getOrUndefined(callbacks.problem(callbackUrl))
    if (problem !== undefined) return bad(what, ...urlProblems[problem])
    const challenge = Redacted.value(yield* (yield* Secrets).make("challenge"))
    const verifyToken = Redacted.make("startlist-doctor")
    return describe(yield* callbacks.validate({ callbackUrl, challenge, verifyToken, timeout }), challenge)
  }).pipe(Effect.provide(layer(configuration)))

/** Addresses at which callbacks are allowed. */
export const reach = ({ callbackAllow }: Configuration): string =>
  ["https on the public internet", ...callbackAllow].join(", ")

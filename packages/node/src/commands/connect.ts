/** The client of the operator API for the command line: with timeouts, and failures that are messages for people. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CommandFailed } from "./Terminal.ts"
import type { Call } from "../operator/Operation.ts"
import * as OperatorClient from "../operator/OperatorClient.ts"

/** Code of a network error, such as ` (ECONNREFUSED)`. `fetch` wraps the error that has it. */
const codeOf = ({ cause }: HttpClientError.HttpClientError): string => {
  const reason = cause instanceof Error && !("code" in cause) ? cause.cause : cause
  return reason instanceof Error && "code" in reason ? ` (${String(reason.code)})` : ""
}

const messageOf = (url: string, failure: OperatorClient.Failure): string => {
  switch (failure._tag) {
    case "RequestError":
      return `${url} does not answer${codeOf(failure)}: is the service running there?`
    case "ResponseError":
      return `${url} closed the connection before the end of its response${codeOf(failure)}`
    case "@startlist/node/UnexpectedResponse":
      return failure.reason === ""
        ? failure.status < 300 ? `${url} is not a Startlist service` : `${url} answered with status ${failure.status}`
        : failure.message
    default:
      return failure.message
  }
}

/** Without the agent of `fetch`, which always has a timeout of five minutes. TCP keep-alive detects a dead service. */
const untimed = Layer.unwrapEffect(Effect.map(
  Effect.promise(() => import("@effect/platform-node/NodeHttpClient")),
  ({ layerWithoutAgent, makeAgentLayer }) => Layer.provide(layerWithoutAgent, makeAgentLayer({ keepAlive: true }))
))

/** Calls the operator API at this target. */
export const connect = (target: OperatorClient.Target): Call => (operation, input) => {
  const { url } = target
  const called = Effect.mapError(
    OperatorClient.call(target, operation, input),
    (failure) => new CommandFailed({ message: messageOf(url, failure) })
  )
  if (operation.isUntimed) return Effect.provide(called, untimed)
  return called.pipe(
    Effect.timeoutFail({
      duration: "30 seconds",
      onTimeout: () => new CommandFailed({ message: `${url} did not answer within 30 seconds` })
    }),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provide(FetchHttpClient.layer)
  )
}

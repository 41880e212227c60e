/**
 * The options that commands share, and the service that they call: its address and token, and calls to the operator API
 * with timeouts and messages for people.
 */
import { readFile } from "node:fs/promises"
import * as Options from "@effect/cli/Options"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { operatorTokenFile } from "../data/Keys.ts"
import type { Call } from "../operator/Operation.ts"
import type { Failure } from "../operator/OperatorClient.ts"
import * as Configuration from "../settings/Configuration.ts"
import { CommandFailed } from "./Terminal.ts"

/** An optional option with a text. */
export const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/** Whether a command prints JSON. */
export const json = Options.boolean("json").pipe(Options.withDescription("print the response of the API as JSON"))

/** The service that a command calls, and the operator token. */
export const service = {
  url: optional("url", "URL of the service (default: HOST and PORT of this environment)"),
  token: Options.redacted("token").pipe(Options.withDescription("the operator token"), Options.optional)
}

/** The options that name the service. */
interface Service {
  readonly url: Option.Option<string>
  readonly token: Option.Option<Redacted.Redacted<string>>
}

/** Checks the URL of an option. */
export const checkUrl = (option: string, given: string): Effect.Effect<string, CommandFailed> =>
  /^https?:\/\//i.test(given) && URL.canParse(given)
    ? Effect.succeed(given)
    : new CommandFailed({ message: `${option}: ${JSON.stringify(given)} is not an http or https URL` })

/** The base URL of a service, without the slash at its end. Default: that of this environment. */
export const urlOf = (
  url: Option.Option<string>
): Effect.Effect<string, CommandFailed | Configuration.InvalidConfiguration> =>
  Option.match(url, {
    onSome: (given) => Effect.map(checkUrl("--url", given), (checked) => checked.replace(/(?<!\/)\/+$/, "")),
    onNone: () => Effect.map(Configuration.current, ({ host, port }) => Configuration.origin(host, port))
  })

const readToken = ({ dataDir, operatorToken }: Configuration.Configuration) =>
  Option.match(operatorToken, {
    onSome: Effect.succeed,
    onNone: () => {
      const file = operatorTokenFile(dataDir)
      return Effect.tryPromise({
        try: async () => Redacted.make((await readFile(file, "utf8")).trim()),
        catch: () =>
          new CommandFailed({
            message:
              `no operator token: give --token, set OPERATOR_TOKEN, or run this command as a user who can read ${file}`
          })
      })
    }
  })

const tokenOf = (token: Option.Option<Redacted.Redacted<string>>) =>
  Option.match(token, { onSome: Effect.succeed, onNone: () => Effect.flatMap(Configuration.current, readToken) })

/** Code of a network error, such as ` (ECONNREFUSED)`. `fetch` wraps the error that has it. */
const codeOf = ({ cause }: HttpClientError.HttpClientError): string => {
  const reason = cause instanceof Error && !("code" in cause) ? cause.cause : cause
  return reason instanceof Error && "code" in reason ? ` (${String(reason.code)})` : ""
}

const messageOf = (url: string, failure: Failure): string => {
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

/** Calls the operator API of a service. The client is loaded here, because help does not need it. */
export const connect = (
  service: Service
): Effect.Effect<Call, CommandFailed | Configuration.InvalidConfiguration> =>
  Effect.gen(function*() {
    const url = yield* urlOf(service.url)
    const target = { url, token: yield* tokenOf(service.token) }
    const OperatorClient = yield* Effect.promise(() => import("../operator/OperatorClient.ts"))
    const FetchHttpClient = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    return (operation, input) => {
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
  })

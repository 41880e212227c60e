/** The command line's side of the operator API. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type Configuration, origin } from "./Configuration.ts"
import { operatorTokenFile } from "./Keys.ts"

/** Why a command failed: one line for people. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>("@startlist/node/CommandFailed")("CommandFailed", {
  message: Schema.String
}) {}

/** A service and the right to operate it. */
export interface Target {
  readonly url: string
  readonly token: Redacted.Redacted<string>
}

/** What was asked for on the command line, else the service of this environment and its token. */
export const target = (
  configuration: Configuration,
  url: Option.Option<string>,
  token: Option.Option<Redacted.Redacted<string>>
): Effect.Effect<Target, CommandFailed> =>
  Effect.map(
    Option.match(Option.orElse(token, () => configuration.operatorToken), {
      onSome: Effect.succeed,
      onNone: () => {
        const file = operatorTokenFile(configuration.dataDir)
        return Effect.tryPromise({
          try: async () => Redacted.make((await readFile(file, "utf8")).trim()),
          catch: () =>
            new CommandFailed({
              message: `no operator token: give --token, set OPERATOR_TOKEN, or run where ${file} can be read`
            })
        })
      }
    }),
    (token) => ({
      url: Option.getOrElse(url, () => origin(configuration.host, configuration.port)).replace(/\/+$/, ""),
      token
    })
  )

const Refusal = Schema.parseJson(Schema.Struct({ message: Schema.String }))
const decodeRefusal = Schema.decodeOption(Refusal)
const decodeJson = Schema.decodeOption(Schema.parseJson())

/** Sends one request; answers the JSON of a 2xx, `null` for an empty one. Everything else is a `CommandFailed`. */
export const request = (
  { token, url }: Target,
  method: "GET" | "POST" | "PATCH",
  path: string,
  body?: Readonly<Record<string, unknown>>
): Effect.Effect<unknown, CommandFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${url}/operator/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${Redacted.value(token)}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "manual",
        signal
      })
      return { status: response.status, text: await response.text() }
    },
    catch: () => new CommandFailed({ message: `${url} does not answer: is the service running there?` })
  }).pipe(
    Effect.timeoutFail({
      duration: "30 seconds",
      onTimeout: () => new CommandFailed({ message: `${url} did not answer within 30 seconds` })
    }),
    Effect.flatMap(({ status, text }) => {
      if (status >= 200 && status < 300) {
        if (text === "") return Effect.succeed(null)
        return Effect.mapError(decodeJson(text), () => new CommandFailed({ message: `${url} is no Startlist service` }))
      }
      const reason = Option.match(decodeRefusal(text), {
        onNone: () => `${url} answered with status ${status}`,
        onSome: ({ message }) => message
      })
      return new CommandFailed({ message: reason })
    })
  )

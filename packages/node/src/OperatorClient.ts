/** The command line's side of the operator API. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Configuration from "./Configuration.ts"
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

/** Without what a request adds: `https://host:port/prefix`. */
export const parseUrl = (given: string): Effect.Effect<string, CommandFailed> =>
  /^https?:\/\//i.test(given) && URL.canParse(given)
    ? Effect.succeed(given.replace(/(?<!\/)\/+$/, ""))
    : new CommandFailed({ message: `--url: ${JSON.stringify(given)} is no http or https address` })

const readToken = ({ dataDir, operatorToken }: Configuration.Configuration) =>
  Option.match(operatorToken, {
    onSome: Effect.succeed,
    onNone: () => {
      const file = operatorTokenFile(dataDir)
      return Effect.tryPromise({
        try: async () => Redacted.make((await readFile(file, "utf8")).trim()),
        catch: () =>
          new CommandFailed({
            message: `no operator token: give --token, set OPERATOR_TOKEN, or run where ${file} can be read`
          })
      })
    }
  })

/** What was asked for on the command line; what was not is the service of this environment and its token. */
export const target = (
  url: Option.Option<string>,
  token: Option.Option<Redacted.Redacted<string>>
): Effect.Effect<Target, CommandFailed | Configuration.InvalidConfiguration> =>
  Effect.all({
    url: Option.match(url, {
      onSome: parseUrl,
      onNone: () => Effect.map(Configuration.current, ({ host, port }) => Configuration.origin(host, port))
    }),
    token: Option.match(token, {
      onSome: Effect.succeed,
      onNone: () => Effect.flatMap(Configuration.current, readToken)
    })
  })

const Refusal = Schema.parseJson(Schema.Struct({ message: Schema.String }))
const decodeRefusal = Schema.decodeOption(Refusal)
const decodeJson = Schema.decodeOption(Schema.parseJson())

/** What the network said, such as ` (ECONNREFUSED)`. */
const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : ""
}

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
    catch: (error) =>
      new CommandFailed({ message: `${url} does not answer${codeOf(error)}: is the service running there?` })
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

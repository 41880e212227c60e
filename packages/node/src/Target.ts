/** Which service a command asks, and with which token. */
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

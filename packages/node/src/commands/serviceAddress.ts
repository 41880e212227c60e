/** The service that a command calls, and the operator token. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { CommandFailed } from "./Terminal.ts"
import * as Configuration from "../settings/Configuration.ts"
import { operatorTokenFile } from "../data/Keys.ts"
import type { Target } from "../operator/OperatorClient.ts"

/** A base URL, without the slash at its end. */
export const parseUrl = (given: string): Effect.Effect<string, CommandFailed> =>
  /^https?:\/\//i.test(given) && URL.canParse(given)
    ? Effect.succeed(given.replace(/(?<!\/)\/+$/, ""))
    : new CommandFailed({ message: `--url: ${JSON.stringify(given)} is not an http or https URL` })

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

/** The service and token from the command line. Default: those of this environment. */
export const serviceAddress = (
  { token, url }: { readonly url: Option.Option<string>; readonly token: Option.Option<Redacted.Redacted<string>> }
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

/** Options that several commands share. */
import * as Options from "@effect/cli/Options"

/** An option with a text. */
export const text = (name: string, description: string) => Options.text(name).pipe(Options.withDescription(description))

/** An optional option with a text. */
export const optional = (name: string, description: string) => Options.optional(text(name, description))

/** An optional option with a whole number. */
export const optionalNumber = (name: string, description: string) =>
  Options.integer(name).pipe(Options.withDescription(description), Options.optional)

/** Whether a command prints JSON. */
export const json = Options.boolean("json").pipe(Options.withDescription("print the response of the API as JSON"))

/** The service that a command calls, and the operator token. */
export const service = {
  url: optional("url", "URL of the service (default: HOST and PORT of this environment)"),
  token: Options.redacted("token").pipe(Options.withDescription("the operator token"), Options.optional)
}

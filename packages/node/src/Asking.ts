/** What the commands that ask a running service have in common. */
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Configuration from "./Configuration.ts"
import { type Target, target } from "./OperatorClient.ts"
import * as Table from "./Table.ts"

/** An option with a text. */
export const optional = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

/** An option with a whole number. */
export const optionalId = (name: string, description: string) =>
  Options.integer(name).pipe(Options.withDescription(description), Options.optional)

/** What every client command takes. */
export const common = {
  url: optional("url", "where the service is; default: the service of this environment"),
  token: Options.redacted("token").pipe(Options.withDescription("the operator token"), Options.optional),
  json: Options.boolean("json").pipe(Options.withDescription("print the API's answer as it is"))
}

export type Common = {
  readonly url: Option.Option<string>
  readonly token: Parameters<typeof target>[2]
  readonly json: boolean
}

/** Runs a command against the service and prints what it answers. */
export const asking = <E>(
  { json, token, url }: Common,
  ask: (service: Target) => Effect.Effect<unknown, E>
) =>
  Effect.gen(function*() {
    const service = yield* target(yield* Configuration.current, url, token)
    const answer = yield* ask(service)
    yield* Console.log(json ? JSON.stringify(answer, null, 2) : Table.render(answer))
  })

/** An object without the options that were not given. */
export const given = (fields: Readonly<Record<string, Option.Option<unknown>>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => Option.isSome(value) ? [[name, value.value]] : [])
  )

/** The options that were given, as the query of an address. */
export const query = (fields: Readonly<Record<string, Option.Option<unknown>>>): string => {
  const parameters = new URLSearchParams(
    Object.entries(given(fields)).map(([name, value]): [string, string] => [name, String(value)])
  ).toString()
  return parameters === "" ? "" : `?${parameters}`
}

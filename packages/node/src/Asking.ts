/** What the commands that ask a running service have in common. */
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CommandFailed, request, type Target, target } from "./OperatorClient.ts"
import { printableJson } from "./internal/printable.ts"
import * as Table from "./Table.ts"

/** An option with a text. */
export const text = (name: string, description: string) => Options.text(name).pipe(Options.withDescription(description))

/** An option with a text that may be left out. */
export const optional = (name: string, description: string) => Options.optional(text(name, description))

/** An option with a whole number that may be left out. */
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
  readonly token: Parameters<typeof target>[1]
  readonly json: boolean
}

/** What a command that lists takes besides. */
export const paging = {
  after: optionalId("after", "continue behind this one, as the end of the page before says"),
  limit: optionalId("limit", "how many, at most 500; default 50"),
  all: Options.boolean("all").pipe(Options.withDescription("page after page, until the end"))
}

export type Paging = {
  readonly after: Option.Option<number>
  readonly limit: Option.Option<number>
  readonly all: boolean
}

/** Prints an answer: as JSON, or as a table for people. */
export const print = ({ json }: Pick<Common, "json">, answer: unknown): Effect.Effect<void> =>
  Console.log(json ? printableJson(answer) : Table.render(answer))

/** The service that a command is to ask. */
export const serviceOf = ({ token, url }: Omit<Common, "json">) => target(url, token)

/** Runs a command against the service and prints what it answers. */
export const asking = <E>(options: Common, ask: (service: Target) => Effect.Effect<unknown, E>) =>
  Effect.flatMap(Effect.flatMap(serviceOf(options), ask), (answer) => print(options, answer))

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

/** The answer was JSON, but not that of this API. */
export const strange = (service: Target) => new CommandFailed({ message: `${service.url} is no Startlist service` })

const decodePage = Schema.decodeUnknown(
  Schema.Struct({ next: Schema.optional(Schema.Int) }, { key: Schema.String, value: Schema.Unknown })
)

/** One page of a list, or with `all` every page as one. `name` is the field that holds the records. */
export const list = (
  service: Target,
  path: string,
  name: string,
  { after, all, limit }: Paging,
  filter: Readonly<Record<string, Option.Option<unknown>>> = {}
): Effect.Effect<unknown, CommandFailed> => {
  const page = (after: Option.Option<number>, limit: Option.Option<number>) =>
    request(service, "GET", `${path}${query({ ...filter, after, limit })}`)
  if (!all) return page(after, limit)
  const pageSize = Option.orElseSome(limit, () => 500)
  const rest = (
    from: Option.Option<number>,
    before: ReadonlyArray<unknown>
  ): Effect.Effect<unknown, CommandFailed> =>
    Effect.gen(function*() {
      const answer = yield* Effect.mapError(
        Effect.flatMap(page(from, pageSize), decodePage),
        (error) => error._tag === "ParseError" ? strange(service) : error
      )
      const records = answer[name]
      if (!Array.isArray(records)) return yield* strange(service)
      const collected = [...before, ...records]
      return answer.next === undefined ? { [name]: collected } : yield* rest(Option.some(answer.next), collected)
    })
  return rest(after, [])
}

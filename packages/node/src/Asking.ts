/** Shared parts of the commands that call a running service. */
import * as Args from "@effect/cli/Args"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Client } from "./OperatorClient.ts"
import { defaultLimit, saying } from "./operator/Fields.ts"
import { printableJson } from "./commands/Terminal.ts"
import { CommandFailed } from "./commands/Terminal.ts"
import { target } from "./Target.ts"
import * as Table from "./Table.ts"

/** An option with a text. */
export const text = (name: string, description: string) => Options.text(name).pipe(Options.withDescription(description))

/** An optional option with a text. */
export const optional = (name: string, description: string) => Options.optional(text(name, description))

/** An optional option with a whole number. */
export const optionalNumber = (name: string, description: string) =>
  Options.integer(name).pipe(Options.withDescription(description), Options.optional)

/** An optional option with an instant. */
export const date = (name: string, description: string) =>
  Options.date(name).pipe(
    Options.withDescription(description),
    Options.map(DateTime.unsafeFromDate),
    Options.optional
  )

const named = <Id>(name: string, id: Schema.Schema<Id, number>) => saying(id, `${name} must be a positive integer`)

/** An identifier as the argument of a command. */
export const idArgument = <Id>(name: string, description: string, id: Schema.Schema<Id, number>) =>
  Args.integer({ name }).pipe(Args.withSchema(named(name, id)), Args.withDescription(description))

/** An option with an identifier. */
export const idOption = <Id>(name: string, description: string, id: Schema.Schema<Id, number>) =>
  Options.integer(name).pipe(Options.withSchema(named(`--${name}`, id)), Options.withDescription(description))

/** An optional option with an identifier. */
export const optionalId = <Id>(name: string, description: string, id: Schema.Schema<Id, number>) =>
  Options.optional(idOption(name, description, id))

/** Options of every client command. */
export const common = {
  url: optional("url", "URL of the service (default: HOST and PORT of this environment)"),
  token: Options.redacted("token").pipe(Options.withDescription("the operator token"), Options.optional),
  json: Options.boolean("json").pipe(Options.withDescription("print the response of the API as JSON"))
}

export type Common = {
  readonly url: Option.Option<string>
  readonly token: Parameters<typeof target>[1]
  readonly json: boolean
}

/** Further options of commands that list. */
export const paging = <Id>(id: Schema.Schema<Id, number>) => ({
  after: optionalId("after", "start after this id; the previous page ends with it", id),
  limit: optionalNumber("limit", "maximum number of entries, up to 500 (default: 50)"),
  all: Options.boolean("all").pipe(Options.withDescription("list all pages"))
})

export type Paging<Id> = {
  readonly after: Option.Option<Id>
  readonly limit: Option.Option<number>
  readonly all: boolean
}

/** Prints a response: as JSON, or as a table for people. */
export const print = ({ json }: Pick<Common, "json">, answer: unknown): Effect.Effect<void> =>
  Console.log(json ? printableJson(answer) : Table.render(answer))

/** The service that a command calls. Only the commands that need the client load it, so that help is faster. */
export const serviceOf = ({ token, url }: Omit<Common, "json">) =>
  Effect.gen(function*() {
    const { connect } = yield* Effect.promise(() => import("./OperatorClient.ts"))
    return yield* connect(yield* target(url, token))
  })

/** Names the parameter that the client has refused before sending it. */
export const explain = (error: Error): CommandFailed =>
  new CommandFailed({
    message: ParseResult.isParseError(error)
      ? ParseResult.ArrayFormatter.formatErrorSync(error)
        .map(({ message, path }) => `${path.join(".")} ${message}`.trim())
        .join("; ")
      : error.message
  })

/** Calls the service and prints its response. */
export const asking = <E extends Error, R>(options: Common, ask: (service: Client) => Effect.Effect<unknown, E, R>) =>
  serviceOf(options).pipe(
    Effect.flatMap((service) => Effect.mapError(ask(service), explain)),
    Effect.flatMap((answer) => print(options, answer))
  )

/** The given fields, for a change that leaves the others unchanged. */
export const given = <A extends object>(fields: { readonly [K in keyof A]: Option.Option<A[K]> }): Partial<A> =>
  // `Object.fromEntries` loses the type of each name.
  Object.fromEntries(
    Object.entries<Option.Option<unknown>>(fields).flatMap(([name, value]) =>
      Option.isSome(value) ? [[name, value.value]] : []
    )
  ) as Partial<A>

interface Page {
  readonly next?: number | undefined
}

/** Requests the page after an identifier. */
export type AskPage<Id, A extends Page, E> = (
  query: { readonly after: Option.Option<Id>; readonly limit: number }
) => Effect.Effect<A, E>

const largestPage = 500

/** All pages after `from`. */
export const everyPage = <Id, A extends Page, E>(
  id: Schema.Schema<Id, number>,
  ask: AskPage<Id, A, E>,
  from: Option.Option<Id> = Option.none(),
  limit = largestPage
): Effect.Effect<ReadonlyArray<A>, E | ParseResult.ParseError> =>
  Effect.gen(function*() {
    const pages: Array<A> = []
    let after = from
    do {
      const page = yield* ask({ after, limit })
      pages.push(page)
      after = page.next === undefined ? Option.none() : Option.some(yield* Schema.decode(id)(page.next))
    } while (Option.isSome(after))
    return pages
  })

/** One page of a list, or with `all` all pages joined. */
export const list = <Id, A extends Page, E>(
  { after, all, limit }: Paging<Id>,
  id: Schema.Schema<Id, number>,
  ask: AskPage<Id, A, E>,
  join: (pages: ReadonlyArray<A>) => A
): Effect.Effect<A, E | ParseResult.ParseError> =>
  all
    ? Effect.map(everyPage(id, ask, after, Option.getOrUndefined(limit)), join)
    : ask({ after, limit: Option.getOrElse(limit, () => defaultLimit) })

/** The commands of the operator API, made of its operations. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type { Problem } from "@startlist/http/api/ApiResponse"
import * as Input from "../operator/Input.ts"
import type { Call, Command as Defined, CommandTexts, Fields, Flag, Group, Operation } from "../operator/Operation.ts"
import { groups } from "../operator/operations.ts"
import { connect, json, service } from "./Connection.ts"
import { CommandFailed, print, readSecret } from "./Terminal.ts"

/** A field as an argument or option. */
interface Parameter {
  readonly field: Input.Field
  /** As on the command line: `--role` or `<id>`. */
  readonly shown: string
  readonly name: string
  readonly about: string
  readonly type: string
  readonly prompt: string | undefined
}

const parametersOf = (
  fields: ReadonlyArray<Input.Field>,
  flags: Readonly<Record<string, Flag | undefined>>,
  nameOf: (fieldName: string) => string,
  show: (name: string) => string
): ReadonlyArray<Parameter> =>
  Object.entries(flags).flatMap(([fieldName, flag]) => {
    const field = fields.find(({ name }) => name === fieldName)
    if (field === undefined || flag === undefined) return []
    const { about, name = nameOf(fieldName), prompt, type = field.kind === "number" ? "integer" : "text" } =
      typeof flag === "string" ? { about: flag } : flag
    return [{ field, shown: show(name), name, about, type, prompt }]
  })

/** The option of a field. Its value is `undefined` if it is not given. */
const toOption = ({ about, field: { isOptional, kind }, name, prompt, type }: Parameter): Options.Options<unknown> => {
  const described = Options.withDescription(about)
  const optional = (option: Options.Options<unknown>): Options.Options<unknown> =>
    isOptional || prompt !== undefined ? Options.map(Options.optional(option), Option.getOrUndefined) : option
  if (prompt !== undefined) return optional(Options.map(described(Options.redacted(name)), Redacted.value))
  if (type === "switch") return Options.map(described(Options.boolean(name)), (isGiven) => isGiven ? true : undefined)
  if (kind === "list") {
    return Options.map(
      Options.repeated(described(Options.text(name))),
      (texts) => isOptional && texts.length === 0 ? undefined : texts
    )
  }
  if (kind === "boolean") return optional(described(Options.choice(name, ["true", "false"])))
  return optional(
    described(typeof kind === "string" ? Options.withPseudoName(Options.text(name), type) : Options.choice(name, kind))
  )
}

const toArgument = ({ about, field: { isOptional, kind }, name }: Parameter): Args.Args<unknown> => {
  const argument = Args.withDescription(Args.text({ name }), about)
  if (kind === "list") return Args.repeated(argument)
  return isOptional ? Args.map(Args.optional(argument), Option.getOrUndefined) : argument
}

/** The wrong values by their names on the command line. Secrets are not repeated. */
const describe = (parameters: ReadonlyArray<Parameter>, raw: Input.Raw, problems: ReadonlyArray<Problem>) =>
  new CommandFailed({
    message: problems.map(({ field: path, message }) => {
      const [name = ""] = path.split(".")
      const parameter = parameters.find(({ field }) => field.name === name)
      const given = parameter?.prompt === undefined ? `, not ${JSON.stringify(raw[name])}` : ""
      return `${parameter?.shown ?? name} ${message}${given}`
    }).join("; ")
  })

/** Asks for secrets that are not given. */
const prompted = (parameters: ReadonlyArray<Parameter>, given: Input.Raw) =>
  Effect.reduce(
    parameters,
    given,
    (values, { field: { name }, prompt }) =>
      prompt === undefined || (values[name] !== undefined && values[name] !== "-")
        ? Effect.succeed(values)
        : Effect.map(readSecret(prompt), (secret) => ({ ...values, [name]: Redacted.value(secret) }))
  )

const pageFlags = {
  after: "start after this id; the previous page ends with it",
  limit: `maximum number of entries, up to ${Input.largestPage} (default: 50)`
}

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

/** All pages, as one. */
const everyPage = (ask: (raw: Input.Raw) => Effect.Effect<unknown, CommandFailed>, raw: Input.Raw) =>
  Effect.gen(function*() {
    const joined: Record<string, ReadonlyArray<unknown>> = {}
    let wanted: Input.Raw | undefined = { limit: Input.largestPage, ...raw }
    while (wanted !== undefined) {
      const page: unknown = yield* ask(wanted)
      const { next, ...lists } = Predicate.isReadonlyRecord(page) ? page : {}
      for (const [name, entries] of Object.entries(lists)) {
        if (isList(entries)) joined[name] = [...joined[name] ?? [], ...entries]
      }
      wanted = next === undefined ? undefined : { ...wanted, after: next }
    }
    return joined
  })

/** An option that a command does not have. */
const absent = Options.map(Options.none, () => false)

type Ask = (input: Input.Raw, call: Call) => Effect.Effect<unknown, CommandFailed>

const toCommand = (texts: CommandTexts<Fields>, input: Fields, ask: Ask) => {
  const fields = Input.fieldsOf(input)
  const isPaged = "limit" in input
  const args = parametersOf(fields, texts.arguments ?? {}, identity, (name) => `<${name}>`)
  const options = parametersOf(
    fields,
    { ...texts.options, ...(isPaged ? pageFlags : {}) },
    (name) => name.replaceAll("_", "-"),
    (name) => `--${name}`
  )
  const parameters = [...args, ...options]
  const decode = Input.decode(input)
  const byField = <A>(some: ReadonlyArray<Parameter>, make: (parameter: Parameter) => A) =>
    Object.fromEntries(some.map((parameter) => [parameter.field.name, make(parameter)]))
  const config = {
    given: { ...byField(args, toArgument), ...byField(options, toOption) },
    all: isPaged ? Options.boolean("all").pipe(Options.withDescription("list all pages")) : absent,
    service,
    json: texts.prints === "itself" ? absent : json
  }
  const [, name = ""] = texts.name.split(" ")
  return Command.make(name, config, ({ all, given, json, service }) =>
    Effect.gen(function*() {
      const known = Object.entries(yield* prompted(parameters, given)).flatMap(([name, value]) => {
        const kind = fields.find((field) => field.name === name)?.kind ?? "text"
        return value === undefined ? [] : [[name, typeof value === "string" ? Input.fromText(kind, value) : value]]
      })
      const raw: Input.Raw = Object.fromEntries(known)
      const call = yield* connect(service)
      const asking = (wanted: Input.Raw) =>
        Effect.flatMap(
          Either.mapLeft(decode(wanted), (problems) => describe(parameters, given, problems)),
          (decoded) => ask(decoded, call)
        )
      const answer = yield* all ? everyPage(asking, raw) : asking(raw)
      if (texts.prints !== "itself") yield* print(answer, json || texts.prints === "json")
    })).pipe(Command.withDescription(texts.help))
}

const commandOf = (member: Operation | Defined) => {
  if (member._tag === "Command") return [toCommand(member, member.input, (input, call) => member.ask(input, call))]
  return member.command === undefined
    ? []
    : [toCommand(member.command, member.input, (input, call) => call(member, input))]
}

/** The groups, each with its commands. */
export const operatorCommands = Object.values(groups).flatMap(({ commands, members }: Group) => {
  if (commands === undefined) return []
  const own = Object.values(members).flatMap(commandOf)
  const [first, ...others] = own
  if (first === undefined) return []
  const group = Command.make(commands.name).pipe(
    Command.withDescription(commands.help),
    Command.withSubcommands([first, ...others])
  )
  return [{ group, commands: own }]
})

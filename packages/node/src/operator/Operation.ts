/**
 * Definitions of the operator API. Each is the source of its route, its description in `openapi.json`, its method of the
 * typed client, its command with help, and its path in metrics.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Deliveries } from "@startlist/core/Deliveries"
import type { StoreError } from "@startlist/core/Store"
import type { Request } from "@startlist/http/Http"
import type { FieldTexts } from "@startlist/http/description/ProtocolTexts"
import type { CommandFailed } from "../commands/Terminal.ts"
import type { Known, Status } from "./OperatorErrors.ts"

type Method = "GET" | "POST" | "PATCH" | "DELETE"

/** The fields of a request, by name. */
export type Fields = Schema.Struct.Fields

/** Calls an operation of the service, and fails with a message for people. */
export type Call = <F extends Fields, O extends Schema.Schema.AnyNoContext>(
  operation: Operation<F, O>,
  input: Schema.Struct.Type<F>
) => Effect.Effect<Schema.Schema.Type<O>, CommandFailed>

/**
 * The option or argument of a command for a field: its description, and its name if that is not the field's (of
 * options, with hyphens). `type` is shown in the help; a switch has no value. `prompt`: a secret that the command asks
 * for if it is missing.
 */
export type Flag = string | {
  readonly name?: string
  readonly about: string
  readonly type?: "date" | "switch"
  readonly prompt?: string
}

/** Name and texts of a command. Fields without a text are not part of it. */
export interface CommandTexts<F extends Fields> {
  /** Group and command, such as `user create`. */
  readonly name: string
  /** Description of the command, for its help. */
  readonly help: string
  /** Output instead of a table, or of JSON with `--json`. `itself`: `ask` prints. */
  readonly prints?: "json" | "itself"
  /** Fields that are arguments, in their order. */
  readonly arguments?: { readonly [Name in keyof F]?: Flag }
  /** Fields that are options, in the order of the help. */
  readonly options?: { readonly [Name in keyof F]?: Flag }
}

interface Definition<F extends Fields, O extends Schema.Schema.AnyNoContext, R> {
  /** Method, and path below `/operator/v1`. Names in braces are fields of `input`. */
  readonly request: `${Method} /${string}`
  /** Heading in `openapi.json`. */
  readonly summary: string
  /** Description in `openapi.json`. */
  readonly description: string
  readonly command?: CommandTexts<F>
  /** Fields in braces are in the path. The others of a GET are in the query, those of other methods in the JSON body. */
  readonly input: F
  /** Name of the body's schema in `openapi.json`. Default: the schema is part of the operation. */
  readonly bodyName?: string
  readonly output: O
  /** Default: 200. The response to a 204 has no body. */
  readonly status?: 200 | 201 | 202 | 204
  /** Statuses of errors, besides those of all requests. */
  readonly refuses?: ReadonlyArray<Extract<Status, 404 | 409 | 422>>
  /** Whether it may take longer than other requests, because it copies files. It then has no transaction. */
  readonly isUntimed?: true
  /** Detail of a successful call in the audit, besides method, path and status. Default: none. */
  audited?(input: Schema.Struct.Type<F>): string
  /** Runs before the transaction of the change, since it is too long for one. Uninterruptible together with it. */
  before?(input: Schema.Struct.Type<F>): Effect.Effect<void, StoreError, Deliveries>
  /** A change is saved together with its audit entry, or not at all. */
  run(
    input: Schema.Struct.Type<F>,
    request: Request
  ): Effect.Effect<Schema.Schema.Type<O>, Known | StoreError, R>
}

/** An operation, with the parts of its request. `R`: the services that it needs. */
export interface Operation<
  F extends Fields = Fields,
  O extends Schema.Schema.AnyNoContext = Schema.Schema.AnyNoContext,
  R = unknown
> extends Definition<F, O, R> {
  readonly _tag: "Operation"
  readonly method: Method
  readonly status: 200 | 201 | 202 | 204
  /** The path in the form of the router: `/operator/v1/users/{id}`. */
  readonly path: string
  /** Fields of the path. */
  readonly inPath: Fields
  /** Fields of the query of a GET, or of the body. */
  readonly others: Fields
}

/** Defines an operation. */
export const operation = <const F extends Fields, O extends Schema.Schema.AnyNoContext, R>(
  definition: Definition<F, O, R>
): Operation<F, O, R> => {
  const [method, path = ""] = definition.request.split(" ")
  const pick = (isWanted: (name: string) => boolean): Fields =>
    Object.fromEntries(Object.entries(definition.input).filter(([name]) => isWanted(name)))
  return {
    ...definition,
    _tag: "Operation",
    status: definition.status ?? 200,
    // Safe: `request` begins with a method.
    method: method as Method,
    path: `/operator/v1${path}`,
    inPath: pick((name) => path.includes(`{${name}}`)),
    others: pick((name) => !path.includes(`{${name}}`))
  }
}

/** A command that is not one operation: it asks for other fields, or calls several operations. */
export interface Command<F extends Fields = Fields> extends CommandTexts<F> {
  readonly _tag: "Command"
  readonly input: F
  ask(input: Schema.Struct.Type<F>, call: Call): Effect.Effect<unknown, CommandFailed>
}

/** Defines such a command. */
export const command = <const F extends Fields>(definition: Omit<Command<F>, "_tag">): Command<F> => ({
  ...definition,
  _tag: "Command"
})

/** The operations and commands for one kind of record. */
export interface Group {
  /** Name and description of the group of commands. None if the group has no commands. */
  readonly commands?: { readonly name: string; readonly help: string }
  /** Texts and examples of fields, by name, or by schema and name. */
  readonly texts: FieldTexts
  /** Whether the requests need no database. */
  readonly isWithoutDatabase?: true
  /** By name, in the order of the help. */
  readonly members: Readonly<Record<string, Operation | Command>>
}

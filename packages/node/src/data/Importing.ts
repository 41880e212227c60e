/** Imports a file of records, one JSON object per line, in any order of kinds. */
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import * as Import from "@startlist/core/Import"
import { PersonStore } from "@startlist/core/PersonStore"
import type { StoreError } from "@startlist/core/Store"
import { UserId, UserStore } from "@startlist/core/User"
import { NewUser, Users } from "@startlist/postgres/Users"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountStore } from "../accounts/AccountStore.ts"
import * as ForeignHash from "../accounts/ForeignHash.ts"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** A user. Without `password_hash`, the user needs a link to choose a password. */
const UserRecord = Schema.Struct({
  kind: Schema.Literal("user"),
  id: UserId,
  role: NewUser.fields.role,
  email: NewUser.fields.email,
  first_name: optional(NewUser.fields.firstName),
  last_name: optional(NewUser.fields.lastName),
  password_hash: optional(Schema.NonEmptyString),
  disabled: optional(Schema.Boolean)
})
type UserRecord = typeof UserRecord.Type

/** A text that is the hash of no password. */
const noPassword = "!"

const records = {
  user: UserRecord,
  application: Import.ApplicationRecord,
  registration: Import.RegistrationRecord,
  subscription: Import.SubscriptionRecord,
  grant: Import.GrantRecord
}
type Kind = keyof typeof records

const kinds: ReadonlyArray<Kind> = ["user", "application", "registration", "subscription", "grant"]

/** Records of a later pass name those of an earlier one. */
const passes: ReadonlyArray<ReadonlyArray<Kind>> = [["user"], ["application"], [
  "registration",
  "subscription",
  "grant"
]]

/** The number of records of each kind by what was done with them. */
export type Summary = Readonly<Record<Kind, Readonly<Record<Import.Outcome | "refused", number>>>>

/** A line that was not imported. */
export interface Refused {
  /** From 1. */
  readonly line: number
  readonly message: string
}

export interface Options {
  readonly file: string
  /** Whether to save nothing. */
  readonly dryRun: boolean
  /** Number of records that are imported at the same time. */
  readonly concurrency: number
  /** Called for each line that is refused. Nothing of it is stored. */
  readonly onRefused: (refused: Refused) => Effect.Effect<void>
  /** Called after each line. */
  readonly onProgress: (lines: number) => Effect.Effect<void>
}

const kindOf = (value: unknown): Kind | undefined =>
  typeof value === "object" && value !== null && "kind" in value
    ? kinds.find((kind) => kind === value.kind)
    : undefined

/** The first problem of a record, with the name of its field. */
const describe = (error: ParseResult.ParseError): string => {
  const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
  const path = issue?.path.join(".") ?? ""
  return path === "" ? issue?.message ?? error.message : `${path}: ${issue?.message}`
}

/** The record of a line, or why it has none. None for the lines of other passes and for empty lines. */
const parse = (text: string, pass: number): Either.Either<Option.Option<Import.Record | UserRecord>, string> => {
  if (text.trim() === "") return Either.right(Option.none())
  const json = Either.try(() => JSON.parse(text) as unknown)
  const kind = Either.isRight(json) ? kindOf(json.right) : undefined
  if (Either.isLeft(json) || kind === undefined) {
    const message = Either.isLeft(json) ? "it is not a JSON object" : `kind: must be one of ${kinds.join(", ")}`
    return pass === 0 ? Either.left(message) : Either.right(Option.none())
  }
  if (passes[pass]?.includes(kind) !== true) return Either.right(Option.none())
  const schema: Schema.Schema<Import.Record | UserRecord, never> = records[kind] as never
  return Either.mapBoth(Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })(json.right), {
    onLeft: describe,
    onRight: Option.some
  })
}

const refuse = (message: string) => new Import.ImportRefused({ message })

const makeAddUser = (dryRun: boolean, planned: Map<number, UserRecord>) =>
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const persons = yield* PersonStore
    const users = yield* Users
    return (record: UserRecord): Effect.Effect<Import.Outcome, Import.ImportRefused | StoreError> =>
      Effect.gen(function*() {
        const { disabled, email, first_name, id, last_name, password_hash, role } = record
        if (yield* persons.isErased(id)) return "unchanged"
        const present = yield* users.find(id)
        if (Option.isSome(present)) {
          return present.value.email.toLowerCase() === email.toLowerCase()
            ? "unchanged"
            : yield* refuse(`id: ${id} is another user`)
        }
        const problem = password_hash == null ? Option.none() : ForeignHash.problem(password_hash)
        if (Option.isSome(problem)) return yield* refuse(`password_hash: ${problem.value}`)
        const taken = refuse("email: another user has this address")
        if (dryRun) {
          planned.set(id, record)
          return Option.isNone(yield* users.findByEmail(email)) ? "added" : yield* taken
        }
        const user = { id, role, email, firstName: first_name ?? "", lastName: last_name ?? "" }
        const isAdded = yield* accounts.add({
          user,
          passwordHash: password_hash ?? noPassword,
          disabled: disabled ?? false
        }).pipe(Effect.catchTag("@startlist/postgres/EmailTaken", () => taken))
        return isAdded ? "added" : "unchanged"
      })
  })

/** The users of the database, and in a dry run those of the file. */
const withPlanned = (users: UserStore.Service, planned: ReadonlyMap<number, UserRecord>): UserStore.Service => ({
  find: (id) => {
    const record = planned.get(id)
    return record === undefined ? users.find(id) : Effect.succeedSome({
      id,
      role: record.role,
      email: record.email,
      firstName: record.first_name ?? "",
      lastName: record.last_name ?? ""
    })
  }
})

/** A failure of the database is retried, because nothing of a record is half stored. */
const retries = { times: 3, while: (error: Import.ImportRefused | StoreError) => isUnavailable(error) }

const isUnavailable = (error: Import.ImportRefused | StoreError): boolean =>
  error._tag === "@startlist/core/StoreError" && error.isRefused !== true

/** The file cannot be read. */
export class UnreadableFile extends Schema.TaggedError<UnreadableFile>()("@startlist/node/UnreadableFile", {
  message: Schema.String
}) {}

const linesOf = (file: string) =>
  Stream.suspend(() =>
    Stream.fromAsyncIterable(
      createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity }),
      (cause) => new UnreadableFile({ message: cause instanceof Error ? cause.message : String(cause) })
    )
  ).pipe(Stream.zipWithIndex)

/** Imports the records of a file in three passes. May be interrupted and repeated. */
export const run = ({ concurrency, dryRun, file, onProgress, onRefused }: Options) =>
  Effect.gen(function*() {
    const planned = new Map<number, UserRecord>()
    const addUser = yield* makeAddUser(dryRun, planned)
    const { add } = yield* Effect.provideService(
      Import.make({ dryRun }),
      UserStore,
      withPlanned(yield* UserStore, planned)
    )
    const zero = () => ({ added: 0, updated: 0, unchanged: 0, refused: 0 })
    const summary = { user: zero(), application: zero(), registration: zero(), subscription: zero(), grant: zero() }
    let refusedLines = 0
    let done = 0

    const refused = (line: number, message: string) => {
      refusedLines++
      return onRefused({ line, message })
    }
    const addLine = (pass: number) => ([text, index]: [string, number]) => {
      const record = parse(text, pass)
      if (Either.isLeft(record)) return refused(index + 1, record.left)
      if (Option.isNone(record.right)) return Effect.void
      const { value } = record.right
      const added = value.kind === "user" ? addUser(value) : add(value)
      return Effect.matchEffect(Effect.retry(added, retries), {
        onSuccess: (outcome) => {
          summary[value.kind][outcome]++
          return onProgress(++done)
        },
        onFailure: (error) => {
          if (error._tag === "@startlist/core/StoreError" && isUnavailable(error)) return Effect.fail(error)
          summary[value.kind].refused++
          return refused(index + 1, error._tag === "@startlist/core/StoreError" ? "it cannot be stored" : error.message)
        }
      })
    }
    for (const pass of passes.keys()) {
      yield* Stream.runDrain(Stream.mapEffect(linesOf(file), addLine(pass), { concurrency, unordered: true }))
    }
    return { summary: summary as Summary, refused: refusedLines }
  })

/** Imports a file of records, one JSON object per line, in any order of kinds. */
import { createReadStream } from "node:fs"
import { hostname, userInfo } from "node:os"
import { createInterface } from "node:readline"
import * as Import from "@startlist/core/Import"
import * as ImportRecord from "@startlist/core/ImportRecord"
import { PersonStore } from "@startlist/core/PersonalData"
import type { StoreError } from "@startlist/core/Store"
import { UserId, UserStore } from "@startlist/core/User"
import { NewUser, Users } from "@startlist/postgres/Users"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AccountStore, noPassword } from "../accounts/AccountStore.ts"
import * as ForeignHash from "../accounts/ForeignHash.ts"
import { AuditLog } from "./AuditLog.ts"

/** A user. Without `password_hash`, the user needs a link to choose a password. */
const UserRecord = Schema.Struct({
  kind: Schema.Literal("user"),
  id: UserId,
  role: NewUser.fields.role,
  email: NewUser.fields.email,
  first_name: ImportRecord.optional(NewUser.fields.firstName),
  last_name: ImportRecord.optional(NewUser.fields.lastName),
  password_hash: ImportRecord.optional(Schema.NonEmptyString),
  disabled: ImportRecord.optional(Schema.Boolean)
})
type UserRecord = typeof UserRecord.Type

const readers: ImportRecord.Readers<ImportRecord.Record | UserRecord> = {
  user: ImportRecord.readerOf(UserRecord),
  ...ImportRecord.readers
}

const passes = [["user"], ["application"], ["registration", "subscription", "grant"]] as const

export interface Options extends Pick<ImportRecord.LinesOptions<never>, "onRefused"> {
  readonly file: string
  /** Whether to save nothing. */
  readonly dryRun: boolean
  /** Number of records that are imported at the same time. */
  readonly concurrency: number
  /** Called after each line. */
  readonly onProgress: (lines: number) => Effect.Effect<void>
}

const refuse = (message: string) => new ImportRecord.ImportRefused({ message })

/** Fields that name a user. */
const userFields = new Set(["owner_id", "user_id", "athlete_id", "organizer_id", "club_id", "platform_user_id"])

/** `mistaken`: identifiers of refused users that other users have here. Records that name them are refused, too. */
const makeAddUser = (dryRun: boolean, planned: Map<number, UserRecord>, mistaken: Set<unknown>) =>
  Effect.gen(function*() {
    /** The e-mail addresses of the users that a dry run would have added. */
    const addresses = new Set<string>()
    const accounts = yield* AccountStore
    const persons = yield* PersonStore
    const users = yield* Users
    return (record: UserRecord): Effect.Effect<ImportRecord.Outcome, ImportRecord.ImportRefused | StoreError> =>
      Effect.gen(function*() {
        const { disabled, email, first_name, id, last_name, password_hash, role } = record
        if (yield* persons.isErased(id)) return "unchanged"
        const address = email.toLowerCase()
        const compare = (present: { readonly email: string }) =>
          Effect.suspend((): Effect.Effect<ImportRecord.Outcome, ImportRecord.ImportRefused> => {
            if (present.email.toLowerCase() === address) return Effect.succeed("unchanged")
            mistaken.add(id)
            return refuse(`id: ${id} is another user`)
          })
        const present = yield* users.find(id)
        mistaken.delete(id)
        if (Option.isSome(present)) return yield* compare(present.value)
        const problem = password_hash == null ? Option.none() : ForeignHash.problem(password_hash)
        if (Option.isSome(problem)) return yield* refuse(`password_hash: ${problem.value}`)
        const taken = refuse("email: another user has this address")
        if (dryRun) {
          const owner = yield* users.findByEmail(email)
          // No wait from here on, since other lines are checked at the same time.
          const other = planned.get(id)
          if (other !== undefined) return yield* compare(other)
          if (Option.isSome(owner) || addresses.has(address)) return yield* taken
          planned.set(id, record)
          addresses.add(address)
          return "added"
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

/** The file cannot be read. */
export class UnreadableFile extends Schema.TaggedError<UnreadableFile>()("@startlist/node/UnreadableFile", {
  message: Schema.String
}) {}

/** Number of lines that are read at a time: a stream of single lines would take more time than their import. */
const blockSize = 1000

async function* readBlocks(file: string) {
  let block: Array<readonly [text: string, line: number]> = []
  let line = 0
  for await (const text of createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity })) {
    block.push([text, ++line])
    if (block.length < blockSize) continue
    yield block
    block = []
  }
  yield block
}

const blocksOf = (file: string) =>
  Stream.fromAsyncIterable(
    readBlocks(file),
    (cause) => new UnreadableFile({ message: cause instanceof Error ? cause.message : String(cause) })
  )

/** The account of this machine that runs the command. */
const account = Effect.sync(() => `${userInfo().username} on ${hostname()}`).pipe(
  Effect.catchAllDefect(() => Effect.succeed(`user ${process.getuid?.()} on ${hostname()}`))
)

/** `3 grant added, 2 lines refused`: the counts that are not zero. */
const describe = (summary: Readonly<Record<string, ImportRecord.Counts>>, refused: number): string => {
  const counted = Object.entries(summary).flatMap(([kind, { refused: _, ...counts }]) =>
    Object.entries(counts).map(([done, count]) => [count, `${kind} ${done}`] as const)
  )
  return [...counted, [refused, "lines refused"] as const]
    .flatMap(([count, what]) => count === 0 ? [] : [`${count} ${what}`]).join(", ") || "no record"
}

/** Adds the one audit entry of a run, also of one that fails or is interrupted. */
const audited = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  done: () => { readonly counts: string; readonly refused: number }
) =>
  Effect.gen(function*() {
    const { append } = yield* AuditLog
    const by = yield* account
    return yield* Effect.onExit(run, (exit) =>
      Effect.flatMap(DateTime.now, (at) => {
        const { counts, refused } = done()
        return append({
          at,
          action: "import",
          actor: { type: "operator" },
          subject: { type: "operator" },
          address: "",
          outcome: Exit.isFailure(exit) ? "failed" : refused > 0 ? "refused" : "success",
          detail: `by ${by}: ${counts}`
        })
      }).pipe(Effect.catchAllCause((cause) => Effect.logWarning("the import has no audit entry", cause))))
  })

/** Imports the records of a file in three passes. May be interrupted and repeated. */
export const run = ({ concurrency, dryRun, file, onProgress, onRefused }: Options) =>
  Effect.gen(function*() {
    const planned = new Map<number, UserRecord>()
    const mistaken = new Set<unknown>()
    const addUser = yield* makeAddUser(dryRun, planned, mistaken)
    const { add } = yield* Effect.provideService(
      Import.make({ dryRun }),
      UserStore,
      withPlanned(yield* UserStore, planned)
    )
    const addOther = (record: ImportRecord.Record) => {
      const wrong = Object.entries(record).find(([field, value]) => userFields.has(field) && mistaken.has(value))
      return wrong === undefined ? add(record) : refuse(`${wrong[0]}: ${wrong[1]} is another user`)
    }
    let refused = 0
    let done = 0
    const lines = ImportRecord.makeLines<ImportRecord.Record | UserRecord>({
      readers,
      passes,
      add: (record) =>
        Effect.zipLeft(
          record.kind === "user" ? addUser(record) : addOther(record),
          Effect.suspend(() => onProgress(++done))
        ),
      onRefused: (line) =>
        Effect.suspend(() => {
          refused++
          return onRefused(line)
        })
    })
    const imported = Effect.forEach(passes.keys(), (pass) => {
      const addLine = lines.add(pass)
      return Stream.runForEach(
        blocksOf(file),
        (lines) => Effect.forEach(lines, ([text, line]) => addLine(text, line), { concurrency, discard: true })
      )
    }, { discard: true })
    yield* dryRun ? imported : audited(imported, () => ({ counts: describe(lines.counts, refused), refused }))
    return { summary: lines.counts, refused }
  })

/** The file in a data folder that names the target of its data. A folder with this file is not opened. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { open, readFile, rename } from "node:fs/promises"
import { join } from "node:path"

/**
 * The target of the data. `to` has no password. `transaction` is the one that copied the data, which may have failed.
 */
export class MovedMark extends Schema.Class<MovedMark>("@startlist/postgres/MovedMark")({
  to: Schema.String,
  transaction: Schema.String
}) {}

const json = Schema.parseJson(MovedMark)

export const fileOf = (folder: string): string => join(folder, "moved.json")

const hasNone = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

/** The mark of a folder. Fails if it exists and cannot be read. */
export const read = (folder: string): Effect.Effect<Option.Option<MovedMark>, unknown> =>
  Effect.tryPromise({ try: () => readFile(fileOf(folder), "utf8"), catch: (error) => error }).pipe(
    Effect.flatMap(Schema.decode(json)),
    Effect.asSome,
    Effect.catchIf(hasNone, () => Effect.succeedNone)
  )

/** Writes the mark, and flushes it to the disk. */
export const write = (folder: string, mark: MovedMark): Effect.Effect<void, unknown> =>
  Effect.flatMap(Schema.encode(json)(mark), (text) =>
    Effect.tryPromise({
      try: async () => {
        const path = fileOf(folder)
        const file = await open(`${path}.new`, "w", 0o600)
        try {
          await file.writeFile(`${text}\n`)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(`${path}.new`, path)
        const parent = await open(folder)
        await parent.sync().finally(() => parent.close())
      },
      catch: (error) => error
    }))

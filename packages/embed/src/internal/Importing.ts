/** The import of records from a former server, as a call. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Import from "@startlist/core/Import"
import * as ImportRecord from "@startlist/core/ImportRecord"
import { ImportStore } from "@startlist/core/ImportStore"
import type { Calls } from "./Calls.ts"
import { demand } from "./Check.ts"
import * as Checks from "./Checks.ts"
import type { Run } from "./Draining.ts"

/** The services of an import, besides the optional `ImportStore`. */
export type Ports = Exclude<Effect.Effect.Context<ReturnType<typeof Import.make>>, ImportStore>

/** Records that are imported at the same time. Requests keep connections of the store. */
const concurrency = 4

/** An import over the given ports, if the stores have an `ImportStore`. */
export const make = (run: Run): Effect.Effect<Calls["import"], never, Ports> =>
  Effect.gen(function*() {
    const store = yield* Effect.serviceOption(ImportStore)
    const ports = yield* Effect.context<Ports>()
    return async (records, options = {}) => {
      if (Option.isNone(store)) throw new TypeError("stores: they have no ImportStore, so they cannot import")
      demand(Checks.records, records, "records")
      demand(Checks.importOptions, options, "options")
      const { dryRun = false } = options
      const refused: Array<ImportRecord.Refused> = []
      const imported = Effect.gen(function*() {
        const { add } = yield* Import.make({ dryRun })
        const lines = ImportRecord.makeLines<ImportRecord.Record>({
          readers: ImportRecord.readers,
          passes: [["application"], ["registration", "subscription", "grant"]],
          add,
          onRefused: (line) => Effect.sync(() => refused.push(line))
        })
        const [addApplication, addOther] = [lines.add(0), lines.add(1)]
        const each = async function*() {
          yield* records
        }
        // An application is there before the next record is read.
        yield* Stream.fromAsyncIterable(each(), (cause) => cause).pipe(
          Stream.orDie,
          Stream.zipWithIndex,
          Stream.mapEffect((one) => Effect.as(addApplication(one[0], one[1] + 1), one)),
          Stream.mapEffect(([text, place]) => addOther(text, place + 1), { concurrency, unordered: true }),
          Stream.runDrain
        )
        return { counts: lines.counts, refused: refused.sort((one, other) => one.line - other.line) }
      })
      return run(imported.pipe(Effect.provideService(ImportStore, store.value), Effect.provide(ports)))
    }
  })

/** The archives of the packages, as publint and arethetypeswrong see them. */
import { expect, it } from "@effect/vitest"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { Effect } from "effect"
import * as Archives from "../src/Archives.ts"

it.scoped("every package resolves for its consumers, in Node and in bundlers", () =>
  Effect.gen(function*() {
    // Packing rebuilds the packages. Other tests use those of this repository.
    const copy = yield* CleanCopy.make
    const folder = yield* CleanCopy.emptyFolder("archives")
    yield* Effect.promise(() => CleanCopy.execute(copy, "node", ["tools/scripts/pack.mjs", "--to", folder]))
    const archives = Archives.packedIn(folder)
    expect([...archives.keys()].sort()).toEqual([...CleanCopy.published].sort())
    for (const [name, archive] of archives) {
      expect(yield* Effect.promise(() => Archives.problems(name, archive)), name).toEqual([])
    }
  }))

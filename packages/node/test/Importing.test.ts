/** An import of users. `system/Import.test.ts` has the whole. */
import { expect, layer } from "@effect/vitest"
import { Policy } from "@startlist/core/Policy"
import * as NodeSecrets from "@startlist/http/NodeSecrets"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Layer, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Importing from "../src/data/Importing.ts"
import * as Keys from "../src/data/Keys.ts"
import * as Storage from "../src/data/Storage.ts"
import { layerCallbacks } from "../src/Service.ts"
import * as Configuration from "../src/settings/Configuration.ts"

const services = Layer.unwrapEffect(Effect.gen(function*() {
  const { url } = yield* TestDatabase.TestDatabase
  const configuration = yield* Configuration.decode({
    DATABASE_URL: Redacted.value(url),
    OPERATOR_TOKEN: "the-operator-token-of-all-the-nodes",
    MASTER_KEY: Buffer.alloc(32, 9).toString("base64")
  }, false)
  const keys = yield* Keys.load(configuration)
  return Layer.mergeAll(
    Storage.layer(configuration, keys),
    NodeSecrets.layerDrawn,
    layerCallbacks(configuration),
    Layer.succeed(Policy, configuration.policy)
  )
})).pipe(Layer.provide(TestDatabase.layer), Layer.orDie)

/** Imports a file, and returns the counts of users and the refused lines. */
const run = (options: Pick<Importing.Options, "concurrency" | "dryRun" | "file">) =>
  Effect.gen(function*() {
    const refused: Array<string> = []
    const { summary } = yield* Importing.run({
      ...options,
      onRefused: ({ line, message }) => Effect.sync(() => refused.push(`${line}: ${message}`)),
      onProgress: () => Effect.void
    })
    return { counts: summary.user, refused }
  })

const userOf = (id: number, email: string) => JSON.stringify({ kind: "user", id, role: "athlete", email })

layer(services)("a dry run", (it) => {
  it.scoped("refuses a second user with an address or an identifier, as the import does", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "former.jsonl")
      const lines = [
        userOf(1, "ada@example.test"),
        userOf(2, "Ada@Example.test"),
        userOf(1, "ADA@example.test"),
        userOf(1, "eve@example.test")
      ]
      writeFileSync(file, lines.join("\n"))
      const dry = yield* run({ file, dryRun: true, concurrency: 1 })
      expect(dry).toEqual({
        counts: { added: 1, updated: 0, unchanged: 1, refused: 2 },
        refused: ["2: email: another user has this address", "4: id: 1 is another user"]
      })
      expect(yield* run({ file, dryRun: false, concurrency: 1 })).toEqual(dry)
    }))

  it.scoped("adds one of several users with the same address or identifier that it checks at the same time", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "former.jsonl")
      const numbers = [11, 12, 13, 14]
      for (
        const lines of [
          numbers.map((id) => userOf(id, "bea@example.test")),
          numbers.map((number) => userOf(11, `bea${number}@example.test`))
        ]
      ) {
        writeFileSync(file, lines.join("\n"))
        const { counts } = yield* run({ file, dryRun: true, concurrency: lines.length })
        expect(counts).toEqual({ added: 1, updated: 0, unchanged: 0, refused: 3 })
      }
    }))
})

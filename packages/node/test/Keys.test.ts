/** Generated keys: created once, readable only by their owner, complete or absent. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Configuration from "../src/settings/Configuration.ts"
import * as Keys from "../src/data/Keys.ts"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const mine = "an operator token of 32 characters".replaceAll(" ", "-")

const load = (environment: Readonly<Record<string, string>>) =>
  Effect.flatMap(Configuration.decode(environment, false), Keys.load)

const shown = ({ masterKeys, operatorToken }: Keys.Keys) => [operatorToken, ...masterKeys].map(Redacted.value)

it.scoped("the first start makes both keys, in a folder and files that only their owner can read", () =>
  Effect.gen(function*() {
    const DATA_DIR = join(yield* temporaryFolder, "data")
    const [token, key] = shown(yield* load({ DATA_DIR }))
    expect(token).toMatch(/^sl_op_[\w-]{43}$/)
    expect(Buffer.from(key ?? "", "base64")).toHaveLength(32)
    expect(statSync(DATA_DIR).mode & 0o777).toBe(0o700)
    expect(readdirSync(DATA_DIR).sort()).toEqual(["master-key", "operator-token"])
    for (const name of readdirSync(DATA_DIR)) expect(statSync(join(DATA_DIR, name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(DATA_DIR, "operator-token"), "utf8")).toBe(`${token}\n`)
  }))

it.scoped("later starts and concurrent starts find the same keys", () =>
  Effect.gen(function*() {
    const DATA_DIR = join(yield* temporaryFolder, "data")
    const starts = yield* Effect.all(Array.from({ length: 20 }, () => load({ DATA_DIR })), {
      concurrency: "unbounded"
    })
    expect(new Set(starts.map((keys) => shown(keys).join())).size).toBe(1)
    expect(shown(yield* load({ DATA_DIR }))).toEqual(starts[0] && shown(starts[0]))
  }))

it.scoped("keys in the environment are used unchanged, and nothing is written", () =>
  Effect.gen(function*() {
    const DATA_DIR = join(yield* temporaryFolder, "data")
    const MASTER_KEY = Buffer.alloc(32, 1).toString("base64")
    expect(shown(yield* load({ DATA_DIR, OPERATOR_TOKEN: mine, MASTER_KEY }))).toEqual([mine, MASTER_KEY])
    expect(() => statSync(DATA_DIR)).toThrow()
  }))

it.scoped("several master keys keep their order, from the environment and from the file", () =>
  Effect.gen(function*() {
    const DATA_DIR = yield* temporaryFolder
    const [present, retired] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString("base64"))
    const environment = { DATA_DIR, OPERATOR_TOKEN: mine }
    expect(shown(yield* load({ ...environment, MASTER_KEY: `${present}, ${retired}` }))).toEqual([
      mine,
      present,
      retired
    ])
    writeFileSync(join(DATA_DIR, "master-key"), `${retired},${present}\n`)
    expect(shown(yield* load(environment))).toEqual([mine, retired, present])
  }))

it.scoped("a damaged key file stops the start with a line that names it, and is not changed", () =>
  Effect.gen(function*() {
    const DATA_DIR = yield* temporaryFolder
    const file = join(DATA_DIR, "master-key")
    writeFileSync(file, "half a k")
    const { message } = yield* Effect.flip(load({ DATA_DIR }))
    expect(message).toBe(`DATA_DIR: the file ${file} is damaged or too short`)
    expect(readFileSync(file, "utf8")).toBe("half a k")
  }))

it.scoped("a data folder in which others may write is refused with advice, and is not changed", () =>
  Effect.gen(function*() {
    const DATA_DIR = yield* temporaryFolder
    for (const mode of [0o777, 0o1777, 0o775, 0o720]) {
      chmodSync(DATA_DIR, mode)
      const { message } = yield* Effect.flip(load({ DATA_DIR }))
      expect(message).toMatch(/^DATA_DIR: others may write in [^\n]*chmod 700 [^\n]*$/)
      expect(statSync(DATA_DIR).mode & 0o1777).toBe(mode)
      expect(readdirSync(DATA_DIR)).toEqual([])
    }
    chmodSync(DATA_DIR, 0o755)
    yield* load({ DATA_DIR })
  }))

it.scoped("a data folder that cannot be made stops the start with a line that names the variable", () =>
  Effect.gen(function*() {
    const file = join(yield* temporaryFolder, "file")
    writeFileSync(file, "")
    const { message } = yield* Effect.flip(load({ DATA_DIR: join(file, "data") }))
    expect(message).toMatch(/^DATA_DIR: /)
  }))

it.effect.runIf(existsSync("/proc/self"))(
  "so does one in a file system that does not allow folders",
  () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(load({ DATA_DIR: "/proc/x/data" }))
      expect(message).toMatch(/^DATA_DIR: ENOENT: .*'\/proc\/x'$/)
    })
)

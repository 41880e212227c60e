/** Runs every command and compiles all code in the guides, or lists them as not run. */
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Scope } from "effect"
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { makeDatabase } from "@startlist/test-support/Nodes"
import * as Guide from "./support/Guide.ts"
import * as Shell from "./support/Shell.ts"

const { repository } = CleanCopy

/** Pages whose commands are run below: those of a line in sequence, by one reader on one machine with the same data. */
const sequences = [["README.md", "docs/start.md", "docs/integrating.md"], ["docs/fake.md"], ["docs/operating.md"]]
const stories = sequences.flat()

/** Pages that are not checked here, with the reason. */
const notHere: Readonly<Record<string, string>> = {
  "docs/moving.md": "Moving.test.ts runs its recipes and commands",
  "docs/troubleshooting.md": "Troubleshooting.test.ts runs each case on an installation that has its problem",
  "examples/own-store/README.md": "its code is put together from its sources",
  "examples/sample-application/README.md": "it is interactive; its own tests start what the commands start"
}

const steps = Guide.pages.flatMap((page) => Guide.read(page).map((step) => ({ page, ...step })))

describe("the pages", () => {
  it("have no command that is neither run nor marked as not run", () => {
    const told = steps.filter(({ kind }) => kind === "run" || kind === "background" || kind === "file")
    expect(told.length).toBeGreaterThan(20)
    const forgotten = told.filter(({ page }) => !stories.includes(page) && !(page in notHere))
    expect(forgotten.map(({ line, page }) => `${page}:${line}`)).toEqual([])
  })

  it("say why a command is not run", () => {
    const reasons = steps.flatMap((step) => step.kind === "not-run" ? [`${step.page}: ${step.reason}`] : [])
    expect(reasons).toMatchInlineSnapshot(`
      [
        "docs/integrating.md: interactive",
        "docs/operating.md: Packages.test.ts",
        "docs/operating.md: systemd",
        "docs/operating.md: systemd",
        "docs/operating.md: setpriv",
        "docs/operating.md: docker",
        "docs/operating.md: systemd",
        "docs/operating.md: kubernetes",
        "docs/operating.md: Processes.test.ts",
        "docs/operating.md: systemd",
        "docs/operating.md: Backup.test.ts",
        "docs/operating.md: pg_dump",
        "docs/operating.md: Backup.test.ts",
        "docs/operating.md: systemd",
        "docs/operating.md: pg_dump",
        "docs/operating.md: Move.test.ts",
        "docs/operating.md: systemd",
        "docs/operating.md: docker",
        "docs/operating.md: systemd",
        "docs/scaling.md: Citus.test.ts",
        "docs/scaling.md: Citus.test.ts",
        "docs/scaling.md: Citus.test.ts",
        "docs/start.md: interactive",
        "packages/node/README.md: published",
      ]
    `)
  })

  it("show only code that is compiled and run in an example or a test", () => {
    /** Indentation is the page's own. */
    const unindented = (code: string): string => code.split("\n").map((line) => line.trim()).join("\n").trim()
    const folders = [
      "packages/fake/test",
      "packages/client/test",
      "examples",
      "packages/embed/test/system/runtimes",
      "packages/node/test/system/packing/consumer",
      "packages/testing/test",
      "tools/reference/test/support"
    ]
    const files = folders.flatMap((folder) =>
      readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => !name.includes("node_modules") && /\.tsx?$/.test(name))
        .map((name) => join(repository, folder, name))
        .filter((file) => statSync(file).isFile())
    ).map((file) => unindented(readFileSync(file, "utf8")))
    const code = steps.filter(({ kind, page }) => kind === "code" && !(page in notHere))
    expect(code.length).toBeGreaterThan(5)
    const unknown = code.filter(({ text }) => !files.some((file) => file.includes(unindented(text))))
    expect(unknown.map(({ line, page }) => `${page}:${line}`)).toEqual([])
  })
})

describe("following the page", () => {
  const scope = Effect.runSync(Scope.make())
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const built = Effect.tap(
    CleanCopy.make,
    (folder) => Effect.promise(() => CleanCopy.execute(folder, "npm", ["run", "--silent", "build"]))
  )
  const copy = Effect.runSync(Effect.cached(Scope.extend(built, scope)))

  for (const pages of sequences) {
    it.scopedLive(`a reader gets through ${pages.join(", ")}`, () =>
      Effect.gen(function*() {
        const folder = yield* copy
        const beside = yield* CleanCopy.emptyFolder("beside")
        const { url } = yield* makeDatabase
        const program = join(folder, "packages/node/dist/program/startlist.js")
        yield* Effect.promise(async () => {
          rmSync(join(folder, ".startlist"), { recursive: true, force: true })
          const environment = { DATABASE: Redacted.value(url) }
          const said = await Shell.run(pages.map((path) => ({ path, steps: Guide.read(path) })), {
            folder,
            beside,
            program,
            environment
          })
          expect(said).not.toBe("")
        })
      }))
  }
})

/** `npm start` and `npm run startlist` in a clean copy of the repository: their output, and when they build. */
import { describe, expect, it } from "@effect/vitest"
import { emptyFolder, execute, make } from "@startlist/test-support/CleanCopy"
import { runProgram } from "@startlist/test-support/RunProgram"
import { Effect, Exit, Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll } from "vitest"

const building = "Building Startlist. This takes a few seconds.\n"
const program = "packages/node/dist/program/startlist.js"

/** Runs a command and waits for its end, or for `until` on stdout. */
const run = async (folder: string, args: ReadonlyArray<string>, more: Record<string, string> = {}, until?: string) => {
  const child = spawn("npm", [...args], {
    cwd: folder,
    // Its own process group, so that a signal also reaches the program below npm.
    detached: true,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...more }
  })
  const said = { stdout: "", stderr: "" }
  const ended = once(child, "close")
  const isSaid = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said.stdout += text
      if (until !== undefined && said.stdout.includes(until)) resolve()
    })
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => said.stderr += text)
  await Promise.race([isSaid, ended])
  if (until !== undefined && child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM")
  const [code] = await ended
  return { ...said, code }
}

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

describe("with a Node that is too old", () => {
  // Each program reads its version before it loads anything else.
  const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'18.20.1'})"
  const root = fileURLToPath(new URL("../../../..", import.meta.url))
  const programs = [[program, "serve"], ["packages/node/scripts/run.mjs", "serve"], ["tools/scripts/check.mjs"]]
  for (const args of programs) {
    it(`${args.join(" ")} prints one line with both versions`, async () => {
      const { status, stderr, stdout } = await runProgram(process.execPath, ["--import", old, ...args], { cwd: root })
      expect([status, stdout]).toEqual([1, ""])
      expect(stderr).toMatch(
        /^startlist: needs Node 20\.19 or later, and runs on 18\.20\.1\. Install a newer Node\.\n$/
      )
    })
  }
})

describe("in a clean copy", () => {
  const scope = Effect.runSync(Scope.make())
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const copy = Effect.runSync(Effect.cached(Scope.extend(make, scope)))

  const start = (folder: string, data: string) =>
    run(folder, ["start"], { DATA_DIR: join(data, "data"), PORT: "0" }, "listens on")
  const version = (folder: string) => run(folder, ["run", "startlist", "--", "--version"])
  const change = (folder: string, path: string, edit: (text: string) => string) =>
    writeFileSync(join(folder, path), edit(readFileSync(join(folder, path), "utf8")))

  it.scopedLive(
    "npm start prints the address, and that it builds if it does; it builds once",
    () =>
      Effect.gen(function*() {
        const folder = yield* copy
        const data = yield* emptyFolder("data")
        const first = yield* Effect.promise(() => start(folder, data))
        expect(lines(first.stdout)).toEqual([expect.stringContaining("Startlist listens on http://127.0.0.1:")])
        expect(["", building]).toContain(first.stderr)
        const built = statSync(join(folder, program)).mtimeMs
        const second = yield* Effect.promise(() => start(folder, data))
        expect(lines(second.stdout)).toEqual([expect.stringContaining("Startlist listens on http://127.0.0.1:")])
        expect(second.stderr).toBe("")
        expect(statSync(join(folder, program)).mtimeMs).toBe(built)
      })
  )

  it.scopedLive("npm run startlist prints only the output of the command", () =>
    Effect.gen(function*() {
      const folder = yield* copy
      yield* Effect.promise(() => version(folder))
      expect(yield* Effect.promise(() => version(folder))).toEqual({ stdout: "0.1.0\n", stderr: "", code: 0 })
      const unknown = yield* Effect.promise(() => run(folder, ["run", "startlist", "--", "nonsense"]))
      expect(unknown).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/^startlist: [^\n]+\n$/) })
    }))

  it.scopedLive(
    "changed, restored and missing files are noticed, also by two concurrent commands",
    () =>
      Effect.gen(function*() {
        const folder = yield* copy
        const source = "packages/node/src/commands/CommandLine.ts"
        const original = readFileSync(join(folder, source), "utf8")
        const twice = () => Promise.all([version(folder), version(folder)])
        yield* Effect.promise(() => version(folder))

        change(
          folder,
          source,
          (text) => text.replace(`name: "Startlist", version,`, `name: "Startlist", version: "9.9.9",`)
        )
        for (const { code, stdout } of yield* Effect.promise(twice)) expect([stdout, code]).toEqual(["9.9.9\n", 0])

        // `cp -p` and version control can restore an older modification time.
        writeFileSync(join(folder, source), original)
        yield* Effect.promise(() => execute(folder, "touch", ["-d", "2001-01-01", source]))
        expect(yield* Effect.promise(() => version(folder))).toMatchObject({ stdout: "0.1.0\n", code: 0 })

        rmSync(join(folder, source))
        const missing = yield* Effect.promise(() => version(folder))
        expect(missing).toMatchObject({ stdout: "", code: 1, stderr: expect.stringContaining("CommandLine.ts") })

        change(folder, "packages/node/src/Program.ts", (text) => text.replace("const program", "const const program"))
        writeFileSync(join(folder, source), original)
        const broken = yield* Effect.promise(() => version(folder))
        expect(broken).toMatchObject({ stdout: "", code: 1 })
        expect(broken.stderr).toMatch(/packages\/node\/src\/Program\.ts:\d+:\d+/)
        expect(broken.stderr).toMatch(/Startlist cannot be built\.\n$/)
        expect(broken.stderr).not.toMatch(/^\s+at /m)
      })
  )
})

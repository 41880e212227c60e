import { describe, expect, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { runProgram } from "../../src/RunProgram.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Asks a script for what it cannot do. */
const ask = async (script: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = await runProgram("npm", ["run", "--silent", script, "--", ...args], { cwd: root })
  const said = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("npm warn"))
  return { status, said, stdout }
}

describe("a script that is asked for what it cannot do", () => {
  it.each([
    ["simulate", ["--seed", "abc"], "--seed must be a number of at least 0, and is \"abc\""],
    ["simulate", ["--sed", "1"], "Unknown option '--sed'"],
    ["mutants", ["nonsense"], "no fault is called \"nonsense\"; there are:"],
    ["fuzz", ["--minutes", "x"], "--minutes must be a number of at least 0, and is \"x\""]
  ])("%s %j: ends with status 1 and says why", async (script, args, why) => {
    const { said, status, stdout } = await ask(script, ...args)
    expect(said[0]).toContain(why)
    expect(said.filter((line) => /^\s+at .*:\d+/.test(line))).toEqual([])
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
  })
})

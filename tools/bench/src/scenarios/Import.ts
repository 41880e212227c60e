/** The time to import the library at the start of a program. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { type Effort, median } from "../Measurement.ts"
import type { Scenario, Table } from "../Scenario.ts"

/** Our library, and the modules that an application with Effect imports in any case. */
const modules = ["@startlist/core", "@startlist/http", "effect"] as const

/** Milliseconds from the start of the import to its end, in a process that has done nothing before. */
const importOnce = async (module: string): Promise<number> => {
  const program =
    "const began = performance.now(); await import(process.argv[1]); console.log(performance.now() - began)"
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program, module], {
    cwd: fileURLToPath(new URL("../..", import.meta.url))
  })
  return Number(stdout)
}

const run = async ({ rounds }: Effort): Promise<ReadonlyArray<Table>> => {
  const times = modules.map((module) => ({ module, millis: new Array<number>() }))
  for (let round = 0; round < Math.max(rounds, 3); round++) {
    for (const { millis, module } of times) millis.push(await importOnce(module))
  }
  return [{
    title: "",
    columns: ["import", "ms, median", "fastest – slowest"],
    rows: times.map(({ millis, module }) => [
      module,
      median(millis).toFixed(0),
      `${Math.min(...millis).toFixed(0)} – ${Math.max(...millis).toFixed(0)}`
    ]),
    goals: []
  }]
}

export const imports: Scenario = {
  name: "import",
  title: "Importing the library",
  about: `
A new process imports the built package and does nothing else. \`@startlist/core\` loads nothing but modules of \`effect\` (a test
checks it), so the barrel \`effect\`, which most applications of Effect load anyway, is its limit.
`,
  run
}

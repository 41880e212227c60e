/** The same work on every supported version of Node. */
import { join } from "node:path"
import * as Cleanup from "../Cleanup.ts"
import * as Contender from "../Contender.ts"
import { type Effort, median } from "../Measurement.ts"
import { asking, refreshing } from "../Protocol.ts"
import { compare, count, type Scenario, type Table } from "../Scenario.ts"
import * as Runtime from "../Runtime.ts"
import * as Service from "../Service.ts"

const startMillis = async ({ node }: Runtime.Runtime, folder: string): Promise<number> => {
  const { millis, stop } = await Service.start(folder, undefined, "anywhere", node)
  await stop()
  return millis
}

const starts = async (runtimes: ReadonlyArray<Runtime.Runtime>, { rounds }: Effort): Promise<Table> => {
  const { path, remove } = Cleanup.temporaryFolder()
  const found = runtimes.map((runtime, index) => ({ runtime, folder: join(path, String(index)), all: Array<number>() }))
  for (const { folder, runtime } of found) await startMillis(runtime, folder)
  for (let round = 0; round < rounds; round++) {
    for (const { all, folder, runtime } of found) all.push(await startMillis(runtime, folder))
  }
  await remove()
  return {
    title: "Starting over an existing embedded database",
    columns: ["", "ms", "range"],
    rows: found.map(({ all, runtime }) => [
      runtime.name,
      count(median(all)),
      `${count(Math.min(...all))} – ${count(Math.max(...all))}`
    ]),
    goals: []
  }
}

export const runtimes: Scenario = {
  name: "runtimes",
  title: "Versions of Node",
  about: `
Startlist itself on every supported version of Node, in memory, 64 connections, one core. The last column says how many times
as fast the newest version is.
`,
  run: async (effort) => {
    const found = Runtime.all()
    const all = found.flatMap((runtime) => [
      runtime,
      { ...runtime, name: `${runtime.name} without Maglev`, env: { V8_FLAGS: "--no-maglev" } }
    ])
    const contenders = (conversations: typeof refreshing) =>
      all.map((runtime, index) =>
        Contender.server(
          { ...runtime, role: index === 0 ? "ours" : "peer", program: "Startlist", args: ["memory"] },
          conversations
        )
      )
    const ratio = "the newest is"
    return [
      await compare({ title: "Refreshing a token", contenders: contenders(refreshing), goals: [], ratio }, effort),
      await compare({ title: "Checking a bearer", contenders: contenders(asking), goals: [], ratio }, effort),
      await starts(found, effort)
    ]
  }
}

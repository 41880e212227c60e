/** Waiting times of the commands of this repository. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Cleanup from "../Cleanup.ts"
import { median } from "../Measurement.ts"
import { count, type Judged, type Scenario } from "../Scenario.ts"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const dist = join(root, "packages/node/dist")

/** Restores the state after `npm ci` on a fresh clone. */
const removeProgram = (): void => {
  const made = readdirSync(dist).filter((name) => name.endsWith(".image") || name === "program")
  for (const name of [...made, ".program.json"]) rmSync(join(dist, name), { recursive: true, force: true })
}

interface Run {
  /** Milliseconds from the start to the output that `until` matches. */
  readonly millis: number
  readonly url: string
  readonly stop: () => Promise<void>
}

const run = async (
  folder: string,
  [command = "", ...args]: ReadonlyArray<string>,
  until: RegExp,
  more = {}
): Promise<Run> => {
  const began = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    // Its own process group, so that the signal also reaches a program below npm.
    detached: true,
    env: { ...process.env, DATA_DIR: join(folder, "data"), PORT: "0", ...more },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = once(child, "close")
  const stop = Cleanup.onEnd(async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, "SIGTERM")
    }
    await ended
  })
  const [url = ""] = await new Promise<RegExpExecArray>((resolve, reject) => {
    let said = ""
    child.stdout.on("data", (chunk) => {
      said += String(chunk)
      const found = until.exec(said)
      if (found) resolve(found)
    })
    child.once("close", (code) => reject(new Error(`${command} ${args.join(" ")} ended with ${code}: ${said}`)))
  })
  return { millis: performance.now() - began, url, stop }
}

const address = /http:\/\/127\.0\.0\.1:\d+/

const rows: ReadonlyArray<{ readonly name: string; readonly within?: number }> = [
  { name: "`npm start`, nothing built", within: 6 },
  { name: "`npm start`", within: 1.5 },
  { name: "`npm run startlist -- application list`", within: 0.8 },
  { name: "`startlist fake`, without npm", within: 0.5 },
  { name: "`node`, for comparison" }
]

/** Milliseconds in the order of `rows`. */
const round = async (): Promise<ReadonlyArray<number>> => {
  const { path, remove } = Cleanup.temporaryFolder()
  removeProgram()
  const first = await run(path, ["npm", "start"], address)
  await first.stop()
  const second = await run(path, ["npm", "start"], address)
  const port = new URL(second.url).port
  const list = await run(path, ["npm", "run", "startlist", "--", "application", "list"], /\S/, { PORT: port })
  await list.stop()
  await second.stop()
  const fake = await run(path, [process.execPath, join(dist, "program/startlist.js"), "fake"], address)
  await fake.stop()
  const node = await run(path, [process.execPath, "--eval", "console.log(0)"], /\S/)
  await node.stop()
  await remove()
  return [first, second, list, fake, node].map(({ millis }) => millis)
}

export const commands: Scenario = {
  name: "commands",
  title: "The commands of the repository",
  about: `
From the start of the command to the line that says where the service listens, or to its answer. \`npm start\` after
\`npm ci\` on a fresh clone bundles the program and creates the image of the embedded database.
`,
  run: async ({ rounds }) => {
    const found: Array<ReadonlyArray<number>> = []
    for (let index = 0; index < rounds; index++) {
      const measured = await round()
      console.error(`    ${measured.map((millis) => `${Math.round(millis)} ms`).join(", ")}`)
      found.push(measured)
    }
    const table = rows.map((row, index) => ({ ...row, all: found.map((one) => one[index] ?? NaN) }))
    return [{
      title: "Until the answer",
      columns: ["", "ms", "range"],
      rows: table.map(({ all, name }) => [
        name,
        count(median(all)),
        `${count(Math.min(...all))} – ${count(Math.max(...all))}`
      ]),
      goals: table.flatMap(({ all, name, within }): ReadonlyArray<Judged> =>
        within === undefined ? [] : [{
          what: name,
          result: `${(median(all) / 1000).toFixed(2)} s`,
          goal: `at most ${within} s`,
          isReached: median(all) <= within * 1000
        }]
      )
    }]
  }
}

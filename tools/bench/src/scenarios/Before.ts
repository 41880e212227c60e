/** Compares the present build with that of an earlier revision. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Cleanup from "../Cleanup.ts"
import * as Contender from "../Contender.ts"
import * as Database from "../Database.ts"
import * as Grants from "../Grants.ts"
import type { Effort } from "../Measurement.ts"
import { asking, connections, refreshing } from "../Protocol.ts"
import { usualTokens } from "./Requests.ts"
import { compare, count, type Goal, type Scenario, type Table } from "../Scenario.ts"

interface Build {
  readonly name: string
  readonly role: "ours" | "peer"
  /** The folder of its programs. None for the present build. */
  readonly build?: string
  readonly fill: (count: number) => (database: Database.Fresh) => Promise<void>
}

const root = fileURLToPath(new URL("../../../../", import.meta.url))

/** Clones the revision and builds it. */
const make = async (revision: string): Promise<Build> => {
  const { path } = Cleanup.temporaryFolder()
  const run = (command: string, ...args: ReadonlyArray<string>) =>
    execFileSync(command, args, { cwd: path, stdio: ["ignore", "ignore", "inherit"] })
  console.error(`    building ${revision}`)
  run("git", "clone", "--quiet", root, ".")
  run("git", "checkout", "--quiet", revision)
  run("npm", "ci")
  const bench = existsSync(join(path, "tools/bench")) ? "tools/bench" : "packages/bench"
  if (existsSync(join(path, bench, "package-lock.json"))) run("npm", "ci", "--prefix", bench)
  run("npx", "tsc", "-b", bench)
  const build = join(path, bench, "dist")
  const { fill }: typeof Grants = await import(pathToFileURL(join(build, "Grants.js")).href)
  return { name: revision, role: "peer", build, fill }
}

const through = (build: Build, args: ReadonlyArray<string>, conversations: typeof refreshing, env = {}) =>
  Contender.server(
    { ...build, program: "Startlist", args, env, ...args[0] === "postgres" ? { storage: "database" as const } : {} },
    conversations
  )

const work = (what: string, grants: number, { fill, ...build }: Build): Contender.Work => ({
  ...build,
  program: "Stores",
  args: [what, String(connections), String(grants)],
  prepare: fill(grants)
})

/** The grants whose refreshes are logged, and the number of refreshes. */
interface Situation {
  readonly name: string
  /** An operation of `workers/Stores`. */
  readonly what: string
  readonly grants: number
  readonly refreshes: number
}

const situations: ReadonlyArray<Situation> = [
  { name: "one to three live access tokens", what: "refresh", grants: 50_000, refreshes: 50_000 },
  { name: "twenty live access tokens", what: "rotation", grants: 1000, refreshes: 10_000 }
]

interface LogRow {
  readonly lsn: string
  readonly refreshes: string
}

/** Bytes of write-ahead log per refresh. Both builds make the same number of refreshes. */
const logOf = async ({ grants, refreshes, what }: Situation, build: Build, effort: Effort): Promise<number> => {
  const database = await Database.fresh()
  const look = async () => {
    const [row] = await database.query<LogRow>(
      `SELECT pg_current_wal_insert_lsn() - '0/0' AS lsn, (SELECT sum(version - 1) FROM startlist_grants) AS refreshes`
    )
    return { lsn: Number(row?.lsn), refreshes: Number(row?.refreshes) }
  }
  try {
    const options = work(what, grants, build)
    await options.prepare(database)
    const exactly = { ...effort, warmUpCalls: refreshes, warmUpSeconds: 3600, seconds: 0 }
    // The first change of a page after a checkpoint logs the whole page, so these changes come before the measurement.
    await Contender.workOn(database, options, exactly)
    const before = await look()
    await Contender.workOn(database, options, exactly)
    const after = await look()
    return (after.lsn - before.lsn) / (after.refreshes - before.refreshes)
  } finally {
    await database.drop()
  }
}

const log = async (builds: ReadonlyArray<Build>, effort: Effort): Promise<Table> => {
  const rows: Array<ReadonlyArray<string>> = []
  const ours: Array<number> = []
  for (const situation of situations) {
    const bytes: Array<number> = []
    for (const build of builds) bytes.push(await logOf(situation, build, effort))
    const [after = Number.NaN, before = Number.NaN] = bytes
    ours.push(after)
    rows.push([situation.name, count(after), count(before), `${(after / before).toFixed(2)} ×`])
  }
  const [usual = Number.NaN] = ours
  return {
    title: "Write-ahead log for each refresh, in bytes",
    columns: ["full_page_writes on; grants with", ...builds.map(({ name }) => name), "ours is"],
    rows,
    goals: [{
      what: "a grant with one to three tokens",
      result: `${count(usual)} bytes`,
      goal: "at most 400",
      isReached: usual <= 400
    }]
  }
}

/** Nothing is slower than before, beyond noise. CPU time decides where it is known, because it is steadier. */
const noMoreTime = { by: "cpu", atMost: 1.05 } as const
const noSlower = { atLeast: 0.95 } as const

export const before: Scenario = {
  name: "before",
  title: "Before and after",
  about: `
Startlist beside an earlier revision of itself (\`--before REVISION\`), which is cloned and built for this: the same
programs, alternating. The earlier build takes part twice: what differs between its two rows is noise. In memory and on
PostgreSQL, ${connections} connections or callers. The bytes of write-ahead log are counted after nearly every page has had
its first change since the checkpoint, because that one logs the whole page.

A grant in use has one to three live access tokens, since they live for eight hours. A grant that is refreshed all the
time has twenty, which are all in its row.
`,
  run: async (effort) => {
    if (effort.before === undefined) {
      console.error("  left out: it needs --before REVISION")
      return []
    }
    const ours: Build = { name: "Startlist", role: "ours", fill: Grants.fill }
    const earlier = await make(effort.before)
    const again: Build = { ...earlier, name: `${earlier.name}, again` }
    const versus = (title: string, goal: Omit<Goal, "than">, contender: (build: Build) => Contender.Contender) =>
      compare(
        { title, contenders: [ours, earlier, again].map(contender), goals: [{ ...goal, than: earlier.name }] },
        effort
      )
    return [
      await versus(
        "Refreshing a token, on PostgreSQL",
        noMoreTime,
        (build) => through(build, ["postgres"], refreshing, usualTokens)
      ),
      await versus(
        "Refreshing a token, on PostgreSQL, with twenty live access tokens",
        noMoreTime,
        (build) => through(build, ["postgres"], refreshing)
      ),
      await versus(
        "Finding a grant and saving its rotation, on PostgreSQL",
        noSlower,
        (build) => Contender.work(work("refresh", 50_000, build))
      ),
      await versus(
        "Saving a rotation, on PostgreSQL, with twenty live access tokens",
        noSlower,
        (build) => Contender.work(work("rotation", Grants.usual, build))
      ),
      await versus(
        "Checking a bearer, on PostgreSQL",
        noMoreTime,
        (build) => through(build, ["postgres"], asking)
      ),
      await versus("Refreshing a token, in memory", noMoreTime, (build) => through(build, ["memory"], refreshing)),
      await versus("Checking a bearer, in memory", noMoreTime, (build) => through(build, ["memory"], asking)),
      await log([ours, earlier], effort)
    ]
  }
}

/** CPU time of processes, from the accounting of the operating system. It is steadier than a rate on a shared machine. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

/** CPU time so far, user and system, in microseconds. */
export type Clock = () => number

interface Stat {
  readonly parent: number
  readonly own: number
  /** Of its children that have ended. */
  readonly ended: number
}

let tick: number | undefined

/** Duration of a clock tick of the kernel in microseconds. */
const tickMicros = (): number => tick ??= 1_000_000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))

/** `/proc/PID/stat` (proc(5)): the name is in parentheses and may contain spaces. */
const statOf = (pid: number | string): Stat | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ").map(Number)
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((place) =>
      fields[place]
    )
    return { parent, own: (user + system) * tickMicros(), ended: (endedUser + endedSystem) * tickMicros() }
  } catch {
    return undefined
  }
}

/** The clock of a process. NaN where the system has no `/proc`. */
export const ofProcess = (pid: number): Clock => () => statOf(pid)?.own ?? Number.NaN

/** The clock of a process and its children, as PostgreSQL has one for each connection. */
export const ofFamily = (pid: number): Clock => () => {
  const first = statOf(pid)
  if (first === undefined) return Number.NaN
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => statOf(name) ?? [])
  return children.reduce((sum, { own, parent }) => parent === pid ? sum + own : sum, first.own + first.ended)
}

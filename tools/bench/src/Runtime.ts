/** The versions of Node that run what is measured: the present one, and the newest one, which some peers need. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Contender } from "./Contender.ts"
import type { Goal } from "./Scenario.ts"

export interface Runtime {
  readonly name: string
  readonly node: string
}

const script = fileURLToPath(new URL("../../scripts/runtimes.mjs", import.meta.url))

const nameOf = (node: string): string => `Node ${execFileSync(node, ["--version"], { encoding: "utf8" }).trim()}`

/** All supported versions, newest first. The first use downloads them. */
export const all = (): ReadonlyArray<Runtime> => {
  const found = execFileSync(process.execPath, [script], { encoding: "utf8" }).trim().split("\n").reverse()
  return found.map((node) => ({ node, name: nameOf(node) }))
}

let known: Runtime | undefined

/** The newest long-term version. The first use downloads it. */
export const newest = (): Runtime => {
  if (known !== undefined) return known
  const node = execFileSync(process.execPath, [script, "26"], { encoding: "utf8" }).trim()
  return known = { node, name: nameOf(node) }
}

/** The present version and the newest one, if they differ. */
const both = (): ReadonlyArray<Runtime> => {
  const present = { node: process.execPath, name: `Node ${process.version}` }
  return [present, newest()].filter(({ name }, index) => index === 0 || name !== present.name)
}

const on = (name: string, runtime: Runtime): string => `${name}, ${runtime.name}`

/** A contender that can run on several versions. */
export interface Option extends Pick<Contender, "name" | "role"> {
  /** Whether it runs on the newest version only, like all peers. */
  readonly onlyNewest?: boolean
}

const isOnlyNewest = ({ onlyNewest = false, role }: Option): boolean => onlyNewest || role === "peer"

/** Ours and the limits on both versions, and the peers on the newest one. Names get the version. */
export const place = <One extends Option>(
  options: ReadonlyArray<One>
): ReadonlyArray<One & { readonly node: string }> =>
  both().flatMap((runtime, index, { length }) =>
    options
      .filter((option) => !isOnlyNewest(option) || index === length - 1)
      .map((option) => ({ ...option, name: on(option.name, runtime), node: runtime.node }))
  )

/** Goals for ours on both versions: beside a limit on the same version, and peers on the newest one. */
export const goals = (options: ReadonlyArray<Option>, goals: ReadonlyArray<Goal>): ReadonlyArray<Goal> =>
  both().flatMap((runtime) =>
    options.filter(({ role }) => role === "ours").flatMap(({ name }) =>
      goals.map((goal) => {
        const other = options.find(({ name }) => name === goal.than)
        const than = other === undefined ? goal.than : on(goal.than, isOnlyNewest(other) ? newest() : runtime)
        return { ...goal, of: on(name, runtime), than }
      })
    )
  )

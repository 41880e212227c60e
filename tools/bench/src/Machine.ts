/** The machine of a measurement. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, release, totalmem, type } from "node:os"
import { dirname, join } from "node:path"
import * as Database from "./Database.ts"
import * as Pgbench from "./Pgbench.ts"
import { isPinned } from "./Process.ts"

/** Name and value of everything that affects the figures. */
export type Description = Readonly<Record<string, string>>

const peers = [
  "oidc-provider",
  "@node-oauth/oauth2-server",
  "@jmondi/oauth2-server",
  "express",
  "graphile-worker",
  "pg-boss",
  "pg",
  "undici-8"
]

const require = createRequire(import.meta.url)

/** Version of a package. Reads its package.json from the disk, since not all packages export it. */
const versionOf = (name: string): string => {
  for (let folder = dirname(require.resolve(name));; folder = dirname(folder)) {
    try {
      const description = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
      if (description.version !== undefined) return description.version
    } catch (error) {
      if (folder === dirname(folder)) throw error
    }
  }
}

export const describe = async (): Promise<Description> => ({
  "Processor": `${cpus()[0]?.model.trim() ?? "unknown"}, ${cpus().length} cores`,
  "Memory": `${Math.round(totalmem() / 2 ** 30)} GB`,
  "System": `${type()} ${release()}`,
  "Node": process.version,
  "PostgreSQL": `${await Database.version()}; ${
    Object.entries(Database.settings).map(([name, value]) => `${name} = ${value}`).join(", ")
  }; defaults otherwise: fsync, full_page_writes and synchronous_commit are on`,
  "pgbench": Pgbench.version() ?? "none on this machine",
  "Peers": peers.map((name) => `${name} ${versionOf(name)}`).join(", "),
  "Cores": isPinned
    ? "load generator and pgbench on the first core, what is measured on the last, PostgreSQL on all"
    : "not bound"
})

/** Cleans up after a run, for any end of it. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const pending = new Set<() => Promise<void>>()

/** Registers a cleanup. Returns a function that runs it now. */
export const onEnd = (undo: () => Promise<void>): () => Promise<void> => {
  const once = async () => {
    if (pending.delete(once)) await undo()
  }
  pending.add(once)
  return once
}

/** Runs all cleanups, the newest first. */
export const run = async (): Promise<void> => {
  for (const undo of [...pending].reverse()) await undo().catch((error: unknown) => console.error(error))
}

/** Also cleans up after an interruption or a bug. */
export const onSignals = (): void => {
  process.once("uncaughtException", (error) => {
    console.error(error)
    void run().finally(() => process.exit(1))
  })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void run().finally(() => process.exit(130)))
  }
}

/** A folder that is removed after the run. */
export const temporaryFolder = (): { readonly path: string; readonly remove: () => Promise<void> } => {
  const path = mkdtempSync(join(tmpdir(), "startlist-bench-"))
  return { path, remove: onEnd(async () => rmSync(path, { recursive: true, force: true })) }
}

/** What a run leaves behind on a machine: nothing, however it ends. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const pending = new Set<() => Promise<void>>()

/** Registers something to undo. Answers the way to undo it now. */
export const onEnd = (undo: () => Promise<void>): () => Promise<void> => {
  const once = async () => {
    if (pending.delete(once)) await undo()
  }
  pending.add(once)
  return once
}

/** Undoes everything, the newest first. */
export const run = async (): Promise<void> => {
  for (const undo of [...pending].reverse()) await undo().catch((error: unknown) => console.error(error))
}

/** From now on an interrupted run cleans up too, and one that meets a bug. */
export const onSignals = (): void => {
  process.once("uncaughtException", (error) => {
    console.error(error)
    void run().finally(() => process.exit(1))
  })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => void run().finally(() => process.exit(130)))
  }
}

/** A folder that is gone after the run. */
export const temporaryFolder = (): { readonly path: string; readonly remove: () => Promise<void> } => {
  const path = mkdtempSync(join(tmpdir(), "startlist-bench-"))
  return { path, remove: onEnd(async () => rmSync(path, { recursive: true, force: true })) }
}

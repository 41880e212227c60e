/** Folders for data. */
import { mkdir, stat } from "node:fs/promises"
import { dirname, resolve } from "node:path"

const isFolder = (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), () => false)

/**
 * Makes a folder, and those above it that are missing, for their owner alone. One by one: to Node's own `recursive` a
 * file system that refuses with ENOENT, as `/proc` does, is a reason to try for ever.
 */
export const make = async (path: string): Promise<void> => {
  const folder = resolve(path)
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await make(dirname(folder))
  await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
    // Somebody else was faster.
    if (!await isFolder(folder)) throw error
  })
}

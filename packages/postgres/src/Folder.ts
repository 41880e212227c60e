/** Private folders for data. */
import type { Stats } from "node:fs"
import { mkdir, stat } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import * as Option from "effect/Option"

const isFolder = (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), () => false)

/**
 * The reason why a folder is not private: others may write in it, and may have planted a key or a database. So its mode
 * is not corrected silently. Windows has no such modes.
 */
export const whyNotPrivate = (folder: string, { mode }: Pick<Stats, "mode">): Option.Option<string> =>
  process.platform !== "win32" && (mode & 0o022) !== 0
    ? Option.some(
      `others may write in ${folder} (mode ${
        (mode & 0o777).toString(8)
      }): check that its files are yours, then chmod 700 ${folder}`
    )
    : Option.none()

/**
 * Creates a folder and its missing parents, only for their owner. One by one: Node's own `recursive` retries endlessly
 * if the file system refuses with ENOENT, like `/proc`.
 */
const makeAll = async (folder: string): Promise<void> => {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeAll(dirname(folder))
  await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
    // Another process was faster.
    if (!await isFolder(folder)) throw error
  })
}

/** Creates a folder only for its owner. Fails if it exists and others may write in it. */
export const make = async (path: string): Promise<void> => {
  const folder = resolve(path)
  await makeAll(folder)
  const whyNot = whyNotPrivate(folder, await stat(folder))
  if (Option.isSome(whyNot)) throw new Error(whyNot.value)
}

/** Folders for data. */
import type { Stats } from "node:fs"
import { mkdir, stat } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import * as Option from "effect/Option"

const isFolder = (path: string): Promise<boolean> => stat(path).then((found) => found.isDirectory(), () => false)

/**
 * Why a folder is not private: others may write in it, and may have planted a key or a database. Nothing repairs that
 * silently. Windows has no such modes.
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
 * Makes a folder, and those above it that are missing, for their owner alone. One by one: to Node's own `recursive` a
 * file system that refuses with ENOENT, as `/proc` does, causes endless retries.
 */
const makeAll = async (folder: string): Promise<void> => {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeAll(dirname(folder))
  await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
    // Somebody else was faster.
    if (!await isFolder(folder)) throw error
  })
}

/** Makes a folder for its owner alone. Fails if it exists and others may write in it. */
export const make = async (path: string): Promise<void> => {
  const folder = resolve(path)
  await makeAll(folder)
  const whyNot = whyNotPrivate(folder, await stat(folder))
  if (Option.isSome(whyNot)) throw new Error(whyNot.value)
}

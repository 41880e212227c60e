/** The program of the embedded database, compiled once in a process. */
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** The needed part of `WebAssembly`: TypeScript has its types only for browsers. */
declare const WebAssembly: { readonly compile: (program: Uint8Array) => Promise<object> }

let compiling: Promise<object> | undefined

const compile = async (): Promise<object> => {
  const pglite = dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite"))
  return WebAssembly.compile(await readFile(join(pglite, "pglite.wasm")))
}

/** PGlite's program, compiled on first use. */
export const compiled = (): Promise<object> => compiling ??= compile()

/**
 * Begins to compile the engine on other threads, so that opening a folder takes less time. Opening a folder reports a
 * failure of it.
 */
export const prepare = (): void => {
  compiled().catch(() => {})
}

/**
 * Makes the program of few files out of the build: a start that reads a thousand modules takes most of a second for it.
 * Needs `tsc -b`. What has files of its own beside its code (a native module, PGlite's image) stays outside.
 */
import { build } from "esbuild"
import { rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"

const dist = fileURLToPath(new URL("../dist/", import.meta.url))

await rm(`${dist}program`, { recursive: true, force: true })
await build({
  entryPoints: { startlist: `${dist}main.js` },
  outdir: `${dist}program`,
  bundle: true,
  // What is loaded on demand stays so.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  external: ["@electric-sql/pglite", "@node-rs/argon2", "pg-native"],
  // Shorter to read, but with the names that stack traces show.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "linked",
  // For the modules in it that are CommonJS.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"
  },
  logLevel: "warning"
})

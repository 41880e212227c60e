import { fileURLToPath } from "node:url"
import type { TestProjectInlineConfiguration } from "vitest/config"
import { patience } from "./tools/test-support/src/Patience.ts"

// Workspace packages resolve to their sources, so that tests need no build. Vite needs it in both places.
const conditions = ["@startlist/source", "node", "import", "module", "default"]

/** Tests below these folders, except some. A time-out, in milliseconds, ends only what hangs: machines may be slow. */
const tier = (
  name: string,
  folder: string,
  exclude: ReadonlyArray<string>,
  timeout: number,
  among = "{packages,tools,examples}/*"
): TestProjectInlineConfiguration => ({
  root: fileURLToPath(new URL(".", import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  esbuild: { target: "es2022", jsx: "automatic", jsxImportSource: "preact" },
  test: {
    name,
    globalSetup: "tools/test-support/src/databases.ts",
    setupFiles: "tools/test-support/src/setup.ts",
    include: [`${among}/${folder}/**/*.test.{ts,tsx}`],
    exclude: ["**/node_modules/**", ...exclude],
    testTimeout: timeout,
    hookTimeout: timeout,
    expect: { poll: { timeout: patience, interval: 100 } }
  }
})

/** Need the packages of their own lockfiles: `npm run bench:check` and `npm run reference:check` install them. */
const installedApart = ["tools/bench/**", "tools/reference/**"]

// CONTRIBUTING.md describes the tiers.
export default [
  tier("fast", "test", ["**/test/system/**", ...installedApart], 2 * patience),
  tier("system", "test/system", ["**/test/system/measured/**", ...installedApart], 5 * patience),
  tier("measured", "test/system/measured", installedApart, 5 * patience),
  tier("bench", "test", [], 5 * patience, "tools/bench"),
  tier("reference", "test", [], 5 * patience, "tools/reference")
]

import { fileURLToPath } from "node:url"
import type { TestProjectInlineConfiguration } from "vitest/config"

// Workspace packages resolve to their sources, so that tests need no build. Vite needs it in both places.
const conditions = ["@startlist/source", "node", "import", "module", "default"]

/** Tests below these folders, except some. */
const tier = (name: string, folder: string, exclude: ReadonlyArray<string>): TestProjectInlineConfiguration => ({
  root: fileURLToPath(new URL(".", import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  esbuild: { target: "es2022", jsx: "automatic", jsxImportSource: "preact" },
  test: {
    name,
    globalSetup: "packages/test-support/src/databases.ts",
    setupFiles: "packages/test-support/src/setup.ts",
    include: [`{packages,examples}/*/${folder}/**/*.test.{ts,tsx}`],
    exclude: ["**/node_modules/**", ...exclude],
    testTimeout: 20_000,
    hookTimeout: 60_000
  }
})

// CONTRIBUTING.md describes the tiers.
export default [
  tier("fast", "test", ["**/test/system/**"]),
  tier("system", "test/system", ["**/test/system/measured/**"]),
  tier("measured", "test/system/measured", [])
]

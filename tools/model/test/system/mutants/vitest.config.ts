/** The suites with one fault planted in the core: `MUTANT` is its name. */
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { coreFaults } from "../../faults/coreFaults.ts"

const root = fileURLToPath(new URL("../../../../../", import.meta.url))
const conditions = ["@startlist/source", "node", "import", "module", "default"]
const mutant = coreFaults.find(({ name }) => name === process.env.MUTANT)?.plant
if (mutant !== undefined && !existsSync(`${root}packages/core/src/${mutant.file}`)) throw new Error(`no ${mutant.file}`)

export default defineConfig({
  root,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  esbuild: { target: "es2022" },
  plugins: [{
    name: "mutant",
    enforce: "pre",
    transform: (code, id) =>
      mutant !== undefined && id.endsWith(`/core/src/${mutant.file}`)
        ? code.replace(mutant.from, () => mutant.to)
        : code
  }],
  test: {
    include: [
      "packages/testing/test/storeLaws.test.ts",
      "tools/model/test/programs.test.ts",
      "packages/core/test/*.test.ts"
    ],
    // One process that loads everything once: loading costs more than the tests.
    pool: "forks",
    isolate: false,
    poolOptions: { forks: { singleFork: true, isolate: false } },
    testTimeout: 20_000,
    teardownTimeout: 2_000
  }
})

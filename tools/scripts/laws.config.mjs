/** `matrix.mjs` runs the laws of stores in memory with another vitest: the one whose program reads this file. */
import { dirname, join } from "node:path"

const conditions = ["@startlist/source", "node", "import", "module", "default"]

export default {
  // The package finds the vitest of this repository. Its tests must register with the one that runs.
  resolve: { conditions, alias: [{ find: /^vitest$/, replacement: join(dirname(process.argv[1]), "dist/index.js") }] },
  ssr: { resolve: { conditions } },
  test: { include: ["packages/testing/test/storeLaws.test.ts"], testTimeout: 300_000 }
}

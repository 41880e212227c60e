import { existsSync, readdirSync } from "node:fs"
import { defineWorkspace } from "vitest/config"

// Workspace packages are resolved to their sources, so that tests need no build. Vite wants it said in both places.
const conditions = ["@startlist/source", "node", "import", "module", "default"]

const projects = ["packages", "examples"]
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => ({ folder, name, root: `${folder}/${name}` })))
  .filter(({ root }) => existsSync(`${root}/test`))

export default defineWorkspace(projects.map(({ folder, name, root }) => ({
  root,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  esbuild: { target: "es2022", jsx: "automatic", jsxImportSource: "preact" },
  test: {
    name: folder === "packages" ? name : `${folder}/${name}`,
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000
  }
})))

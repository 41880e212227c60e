import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const folder = fileURLToPath(new URL("../..", import.meta.url))

it("the reference is generated from the doc comments without a warning, members of services included", async () => {
  const typedoc = join(dirname(createRequire(import.meta.url).resolve("typedoc/package.json")), "bin/typedoc")
  const { stderr, stdout } = await promisify(execFile)(process.execPath, [typedoc, "--options", "typedoc.json"], {
    cwd: folder
  })
  expect(`${stdout}${stderr}`).not.toContain("warning")
  const page = readFileSync(
    join(folder, "dist/core/src/GrantStore/namespaces/GrantStore/interfaces/Service.md"),
    "utf8"
  )
  expect(page).toContain("Saves `change.grant` over version")
}, 180_000)

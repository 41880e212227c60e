/** `npm run check`: types, lint, layers, format and words. Prints nothing unless something is wrong. */
import "./engines.mjs"
import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const bin = join(root, "node_modules", ".bin")

const checks = [
  "tsc -b",
  "oxlint --deny-warnings",
  "node tools/scripts/layers.mjs",
  "dprint check",
  "node tools/scripts/prose.mjs"
]

for (const command of checks) {
  const { error, status, stderr, stdout } = spawnSync(command, {
    cwd: root,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: true
  })
  if (error === undefined && status === 0) continue
  console.error(`${stdout}${stderr}${error ?? ""}`.replaceAll(root, "").trimEnd())
  process.exit(1)
}

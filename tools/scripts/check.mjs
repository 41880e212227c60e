/** `npm run check`: types, Effect diagnostics, lint, format and words. Prints nothing unless something is wrong. */
import { spawnSync } from "node:child_process"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const bin = join(root, "node_modules", ".bin")

/** `finds` recognises findings that leave the exit status at 0. */
const checks = [
  { command: "tsc -b" },
  { command: "effect-tsgo diagnostics --project tsconfig.json --format text", finds: /\beffect\(\w+\): / },
  { command: "oxlint --deny-warnings" },
  { command: "dprint check" },
  { command: "node tools/scripts/prose.mjs" }
]

for (const { command, finds } of checks) {
  const { error, status, stderr, stdout } = spawnSync(command, {
    cwd: root,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: true
  })
  if (error === undefined && status === 0 && !finds?.test(stdout)) continue
  console.error(`${stdout}${stderr}${error ?? ""}`.replaceAll(root, "").trimEnd())
  process.exit(1)
}

/** The licences of packages that a bundle contains: most of them ask that a copy has their text. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

const packageOf = (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]

/** The text for these inputs of a bundle: each package with its version and licence. */
export const licensesOf = (inputs) =>
  [...new Set(inputs.flatMap((path) => packageOf(path) ?? []))].sort().map((folder) => {
    const { license, name, version } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))
    const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one))
    const text = file === undefined ? "" : `\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`
    return `${name} ${version}: ${license}\n${text}`
  }).join("\n---\n\n")

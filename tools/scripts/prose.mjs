/**
 * `node tools/scripts/prose.mjs [FILE…]`: finds words that the project avoids in documentation, comments and messages, and
 * sentences that are too long in documentation. `--lengths` also prints the sentence lengths of each document.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { lint } from "./prose/Lint.mjs"
import { sentencesOf } from "./prose/Sentences.mjs"

const root = fileURLToPath(new URL("../../", import.meta.url))

const maxWords = 35
const maxMeanWords = 16

/** Generated texts, and texts in other languages. */
const others = [/^packages\/pages\/src\/internal\/French/, /^docs\/evidence\/benchmarks\.md$/, /Prose\.test\.ts$/]

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { lengths: { type: "boolean", default: false } }
})

const tracked = () => {
  const patterns = ["*.md", "*.ts", "*.tsx", "*.mjs"]
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns]
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim().split("\n")
    .filter((path) => existsSync(`${root}${path}`) && !others.some((other) => other.test(path)))
}

const files = positionals.length > 0 ? positionals : tracked()

const isGuide = (path) => path.endsWith(".md")

const findings = []
const lengths = []
for (const path of files) {
  const content = readFileSync(positionals.length > 0 ? resolve(path) : `${root}${path}`, "utf8")
  findings.push(...await lint(path, content))
  if (!isGuide(path)) continue
  const sentences = sentencesOf(content)
  if (sentences.length === 0) continue
  const mean = sentences.reduce((sum, { words }) => sum + words, 0) / sentences.length
  const longest = Math.max(...sentences.map(({ words }) => words))
  lengths.push({ path, mean, longest, sentences: sentences.length })
  if (mean >= maxMeanWords) {
    findings.push(`${path}: ${mean.toFixed(1)} words in a sentence on average; below ${maxMeanWords} is wanted`)
  }
  for (const { line, text, words } of sentences) {
    if (words > maxWords) {
      findings.push(
        `${path}:${line}: a sentence of ${words} words; at most ${maxWords} are wanted: ${text.slice(0, 80)}…`
      )
    }
  }
}
if (values.lengths) {
  for (const { longest, mean, path, sentences } of lengths) {
    console.log(
      `${mean.toFixed(1).padStart(5)}  ${String(longest).padStart(3)}  ${String(sentences).padStart(4)}  ${path}`
    )
  }
}
if (findings.length > 0) {
  console.error(findings.join("\n"))
  process.exitCode = 1
}

/**
 * `node scripts/prose.mjs`: words that the project avoids, and sentences that are too long, in documentation, comments and
 * messages. `--lengths` also prints the mean length of the sentences of each guide.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { lint } from "./prose/Lint.mjs"
import { sentencesOf } from "./prose/Sentences.mjs"

const root = fileURLToPath(new URL("../", import.meta.url))

const maxWords = 35
const maxMeanWords = 16

/** Generated texts, and texts in other languages. */
const others = [/^packages\/pages\/src\/internal\/French/, /^docs\/benchmarks\.md$/]

const files = execFileSync("git", ["ls-files", "*.md", "*.ts", "*.tsx", "*.mjs"], { cwd: root, encoding: "utf8" })
  .trim().split("\n").filter((path) => !others.some((other) => other.test(path)))

const isGuide = (path) => path.endsWith(".md")

const findings = []
const lengths = []
for (const path of files) {
  const content = readFileSync(`${root}${path}`, "utf8")
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
if (process.argv.includes("--lengths")) {
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

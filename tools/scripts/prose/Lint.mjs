/** Finds words of the project's list in documentation, comments and messages. */
import { TextlintKernel } from "@textlint/kernel"
import markdown from "@textlint/textlint-plugin-markdown"
import plain from "@textlint/textlint-plugin-text"
import { parseSync, Visitor } from "oxc-parser"
import { fileURLToPath } from "node:url"
import prh from "textlint-rule-prh"

const words = fileURLToPath(new URL("words.yml", import.meta.url))

const kernel = new TextlintKernel()

const options = {
  plugins: [{ pluginId: "markdown", plugin: plugin(markdown) }, { pluginId: "text", plugin: plugin(plain) }],
  rules: [{ ruleId: "prh", rule: plugin(prh), options: { rulePaths: [words] } }]
}

/** The default export of CommonJS modules is one level deeper. */
function plugin(module) {
  return module.default ?? module
}

/** Minimum number of words of a message. A shorter string is a name or a key. */
const minWords = 3

/** The comments and messages of a source at their places, with blanks in place of the rest. */
export const proseOf = (path, source) => {
  const { comments, program } = parseSync(path, source)
  const ranges = comments.map(({ end, start }) => [start, end])
  const add = ({ end, start }) => {
    if (source.slice(start, end).trim().split(/\s+/).length >= minWords) ranges.push([start, end])
  }
  new Visitor({
    JSXText: add,
    Literal: (node) => typeof node.value === "string" && add(node),
    TemplateElement: add
  }).visit(program)
  const blank = [...source].length === source.length
    ? source.replaceAll(/[^\n]/g, " ")
    : source.replaceAll(/[^\n]/gu, " ")
  let prose = ""
  let at = 0
  for (const [start, end] of ranges.sort(([a], [b]) => a - b)) {
    if (start < at) continue
    prose += blank.slice(at, start) + source.slice(start, end)
    at = end
  }
  return prose + blank.slice(at)
}

/** The findings of one file: `path:line: message`. */
export const lint = async (path, content) => {
  const isMarkdown = path.endsWith(".md")
  const text = isMarkdown ? content : proseOf(path, content)
  const ext = isMarkdown ? ".md" : ".txt"
  const { messages } = await kernel.lintText(text, { ...options, ext, filePath: path })
  return messages.map(({ line, message }) => `${path}:${line}: ${message.replaceAll("\n", " ")}`)
}

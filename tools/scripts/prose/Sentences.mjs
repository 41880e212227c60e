/** Measures the sentences of a Markdown text, without its tables, code and headings. */
import { parse } from "@textlint/markdown-to-ast"

/** Nodes whose text is not a sentence. */
const skipped = new Set(["CodeBlock", "Table", "Header", "HtmlBlock", "Html", "Comment", "Image"])

const textOf = (node) => {
  if (skipped.has(node.type)) return ""
  if (node.type === "Code") return "code"
  if (node.type === "Break") return " "
  return node.children === undefined ? node.value ?? "" : node.children.map(textOf).join("")
}

const paragraphs = (node) => {
  if (skipped.has(node.type)) return []
  if (node.type === "Paragraph") return [node]
  return (node.children ?? []).flatMap(paragraphs)
}

/** Each sentence with its line and its number of words. A sentence ends at `.`, `?` or `!`, or with its paragraph or list item. */
export const sentencesOf = (markdown) =>
  paragraphs(parse(markdown)).flatMap((paragraph) =>
    textOf(paragraph)
      .split(/(?<=[.?!]["”’)]?)\s+/)
      .map((text) => ({
        line: paragraph.loc.start.line,
        text: text.replaceAll(/\s+/g, " ").trim(),
        words: text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
      }))
      .filter(({ words }) => words > 0)
  )

/**
 * Parses the guides. A fenced block is run if its language is `sh`, `ts`, `python` or `sql`, unless its info string
 * gives a reason. Marks after the language:
 *
 * - `background`: starts the service and stays, as in another terminal;
 * - `file=NAME`: a part of this file, which a test of its own uses;
 * - `not-run=REASON`: is not run here. The reasons are listed by the tests.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { repository } from "@startlist/test-support/CleanCopy"

export type Step =
  | { readonly kind: "run"; readonly text: string; readonly line: number }
  | { readonly kind: "background"; readonly text: string; readonly line: number }
  | { readonly kind: "file"; readonly text: string; readonly line: number; readonly file: string }
  | { readonly kind: "code"; readonly text: string; readonly line: number; readonly language: string }
  | { readonly kind: "not-run"; readonly text: string; readonly line: number; readonly reason: string }

const languages = new Set(["sh", "bash", "shell", "console", "ts", "typescript", "js", "python", "py", "sql"])

const pattern = /^```(\S+)([^\n]*)\n(.*?)^```$/gms

const toStep = (language: string, info: string, text: string, line: number): Step => {
  const said = info.trim()
  const [, reason] = /^not-run=(\S+)$/.exec(said) ?? []
  if (reason !== undefined) return { kind: "not-run", text, line, reason }
  const [, file] = /^file=(\S+)$/.exec(said) ?? []
  if (file !== undefined) return { kind: "file", text, line, file }
  if (language === "sh" && said === "") return { kind: "run", text, line }
  if (language === "sh" && said === "background") return { kind: "background", text, line }
  if (said === "") return { kind: "code", text, line, language }
  throw new Error(`line ${line}: what is "${said}"?`)
}

/** The steps, in order. */
export const parse = (markdown: string): ReadonlyArray<Step> =>
  [...markdown.matchAll(pattern)].flatMap((match): ReadonlyArray<Step> => {
    const [, language, info = "", text = ""] = match
    const line = markdown.slice(0, match.index).split("\n").length
    return language !== undefined && languages.has(language) ? [toStep(language, info, text, line)] : []
  })

/** A page, by its path in the repository. */
export const read = (path: string): ReadonlyArray<Step> => parse(readFileSync(join(repository, path), "utf8"))

/** The steps of a page, with its path. */
export interface Page {
  readonly path: string
  readonly steps: ReadonlyArray<Step>
}

/** Files that the blocks of a page create, by name. */
export const filesOf = (steps: ReadonlyArray<Step>): ReadonlyMap<string, string> => {
  const files = new Map<string, string>()
  for (const step of steps) {
    if (step.kind === "file") files.set(step.file, (files.get(step.file) ?? "") + step.text)
  }
  return files
}

const isDirectory = (path: string, name: string) =>
  readdirSync(join(repository, path), { withFileTypes: true })
    .some((entry) => entry.isDirectory() && entry.name === name)

const readmes = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(repository, folder)).filter((name) =>
    isDirectory(folder, name) && readdirSync(join(repository, folder, name)).includes("README.md")
  ).map((name) => `${folder}/${name}/README.md`)

/** All guides. */
export const pages: ReadonlyArray<string> = [
  ...readdirSync(repository).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(repository, "docs")).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ...readmes("packages"),
  ...readmes("examples")
]

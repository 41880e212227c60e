import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))

const markdownIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => join(folder, name))

const readmesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder)).map((name) => join(folder, name, "README.md")).filter((path) =>
    existsSync(join(root, path))
  )

const pages = [
  ...[".", "docs", "docs/operations"].flatMap(markdownIn),
  ...["packages", "tools", "examples"].flatMap(readmesIn)
]

/** The text of a page without its code. */
const textOf = (page: string): string => readFileSync(join(root, page), "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "")

/** The fragments of the headings, as GitHub makes them. */
const fragmentsOf = (page: string): ReadonlyArray<string> =>
  [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
  )

/** Whether a link of a page leads to a file, and to a heading of it. */
const isGood = (page: string, link: string): boolean => {
  const [path = "", fragment] = link.split("#")
  const target = path === "" ? page : join(page, "..", path)
  if (!existsSync(join(root, target))) return false
  return fragment === undefined || statSync(join(root, target)).isFile() && fragmentsOf(target).includes(fragment)
}

/** Links of a page to files and headings of the repository. */
const linksOf = (page: string): ReadonlyArray<string> =>
  [...textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => link)

it("every link leads to a file and a heading that exist", () => {
  const broken = pages.flatMap((page) =>
    linksOf(page).filter((link) => !isGood(page, link)).map((link) => `${page}: ${link}`)
  )
  expect(broken).toEqual([])
})

it("the index leads to every guide", () => {
  const index = linksOf("docs/README.md").map((link) => join("docs", link.split("#")[0] ?? ""))
  const guides = [...markdownIn("docs"), ...markdownIn("docs/operations")].filter((page) => page !== "docs/README.md")
  expect(guides.filter((page) => !index.includes(page))).toEqual([])
})

/** Tasks of people who have never seen the guides. */
const tasks = [
  "connect an application",
  "verify a signature",
  "rotate a secret",
  "restore a backup",
  "add a page to an embedding",
  "write a store for another database",
  "find why an event did not arrive",
  "upgrade",
  "answer an erasure request",
  "add a scope"
]

it("the index has a link for each of ten tasks", () => {
  const rows = textOf("docs/README.md").split("\n").filter((line) => line.startsWith("| "))
  const isLinked = (task: string) => rows.some((row) => row.startsWith(`| ${task} `) && row.includes("]("))
  expect(tasks.filter((task) => !isLinked(task))).toEqual([])
})

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

const guides = [".", "docs", "docs/evidence", "docs/operations"].flatMap(markdownIn)

const pages = [
  ...guides,
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

/** The pages to which a page has links. */
const pagesFrom = (page: string): ReadonlyArray<string> =>
  linksOf(page).map((link) => join(page, "..", link.split("#")[0] ?? "")).filter((path) => path.endsWith(".md"))

it("the README leads to every guide in two steps", () => {
  const first = pagesFrom("README.md")
  const reached = new Set(["README.md", ...first, ...first.filter((page) => guides.includes(page)).flatMap(pagesFrom)])
  expect(guides.filter((page) => !reached.has(page))).toEqual([])
})

/** Tasks of people who have never seen the guides, and where they are solved. */
const tasks = {
  "connect an application": "docs/integrating.md#1-start-a-fake-service",
  "verify a signature": "docs/integrating.md#verify-a-signature",
  "rotate a secret": "docs/integrating.md#rotate-a-secret",
  "restore a backup": "docs/operating.md#restore-a-backup",
  "embed it in a server": "docs/embedding.md#1-connect-your-users",
  "write a store for another database": "docs/stores.md#write-it-in-this-order",
  "find why an event did not arrive": "docs/troubleshooting.md#find-why-an-event-did-not-arrive",
  "upgrade": "docs/operating.md#upgrade",
  "answer an erasure request": "docs/troubleshooting.md#a-person-asks-for-data-or-erasure"
}

it("the README leads to the section of each of ten tasks in two steps", () => {
  const first = pagesFrom("README.md")
  const lost = Object.entries(tasks).filter(([, where]) =>
    !isGood("README.md", where) || !first.includes(where.split("#")[0] ?? "")
  )
  expect(lost).toEqual([])
})

const wordsIn = (page: string): number => readFileSync(join(root, page), "utf8").trim().split(/\s+/).length

it("the README has at most 600 words, and all guides 27,000", () => {
  const counted = ["README.md", "CONTRIBUTING.md", ...markdownIn("docs")].map(wordsIn)
  expect(counted[0]).toBeLessThanOrEqual(600)
  expect(counted.reduce((sum, words) => sum + words)).toBeLessThanOrEqual(27_000)
})

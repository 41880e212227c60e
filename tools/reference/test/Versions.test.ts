import { expect, it } from "@effect/vitest"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../src/Run.ts"
import { raise } from "../src/Versions.ts"

/** A workspace is a link to its folder. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly link?: true; readonly resolved: string }>>
}

it("a release raises every version and every range in which our packages name each other", () => {
  const folder = mkdtempSync(join(tmpdir(), "startlist-versions-"))
  try {
    const before = readFileSync(join(root, "package-lock.json"), "utf8")
    const { packages }: Lock = JSON.parse(before)
    const workspaces = Object.values(packages).flatMap(({ link, resolved }) => link === true ? resolved : [])
    const manifests = ["package.json", "package-lock.json", ...workspaces.map((name) => `${name}/package.json`)]
    for (const manifest of manifests) cpSync(join(root, manifest), join(folder, manifest))
    raise(folder, "9.8.7-test.6")
    for (const manifest of manifests.filter((name) => name !== "package-lock.json")) {
      const text = readFileSync(join(folder, manifest), "utf8")
      expect(JSON.parse(text).version, manifest).toBe("9.8.7-test.6")
      // `source` and `built` are conditions of exports.
      for (const [, range] of text.matchAll(/"@startlist\/(?!(?:source|built)")[\w-]+": "([^"]*)"/g)) {
        expect(range, manifest).toBe("9.8.7-test.6")
      }
    }
    const version = JSON.parse(before).version
    const lock = readFileSync(join(folder, "package-lock.json"), "utf8")
    expect(lock.replaceAll("9.8.7-test.6", version)).toBe(before)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/**
 * Bundles the program from the sources, and creates the image of the embedded database, if something has changed since
 * the last build.
 */
import "../../../tools/scripts/engines.mjs"
import { execFile } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { mkdir, rename, rm, writeFile } from "node:fs/promises"
import { basename, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { licensesOf } from "../../../tools/scripts/licenses.mjs"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const dist = fileURLToPath(new URL("../dist/", import.meta.url))
const folder = join(dist, "program")
const manifest = join(dist, ".program.json")

/** The program. */
export const entry = join(folder, "startlist.js")

/** Maximum lag of file system clocks in milliseconds. */
const clockLag = 10

/** Files of earlier builds stay for a day, because a running service may load them later. */
const keptMillis = 24 * 60 * 60 * 1000

/** The change time, because `git checkout` and `cp -p` cannot set it. */
const stampOf = (path) => {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  return found === undefined ? "missing" : `${found.ctimeMs} ${found.size}`
}

const hashOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex")

/** Whether the program is up to date. */
export const isCurrent = () => {
  try {
    const { entryHash, stamps } = JSON.parse(readFileSync(manifest, "utf8"))
    return hashOf(entry) === entryHash && readdirSync(dist).some((name) => name.endsWith(".image")) &&
      Object.entries(stamps).every(([path, stamp]) => stampOf(path) === stamp)
  } catch {
    return false
  }
}

/**
 * Files that affect the result in addition to the bundled ones. npm writes the second one when it changes a dependency.
 */
const settings = (inputs) =>
  [
    relative(root, fileURLToPath(import.meta.url)),
    "node_modules/.package-lock.json",
    "tsconfig.base.json",
    ...new Set(inputs.flatMap((path) => path.match(/^packages\/[^/]+\//) ?? []))
  ].flatMap((path) => path.endsWith("/") ? [`${path}package.json`, `${path}tsconfig.json`] : [path])

/** Replaces a file atomically. */
const replace = async (file, contents) => {
  const beside = `${file}.${randomUUID()}`
  await writeFile(beside, contents)
  await rename(beside, file)
}

const bundle = async () => {
  const esbuild = await import("esbuild")
  const began = Date.now()
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { startlist: "packages/node/src/main.ts", image: "packages/node/src/data/image.ts" },
    outdir: folder,
    write: false,
    metafile: true,
    conditions: ["@startlist/source"],
    bundle: true,
    // Modules that are loaded on demand stay separate.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Packages with files beside their code: a native module, the engine of the database.
    external: ["@electric-sql/pglite", "@node-rs/argon2", "@node-rs/bcrypt", "pg-native"],
    // Small, but with the names that stack traces show.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    // For bundled CommonJS modules.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"
    },
    logLevel: "warning"
  })
  await esbuild.stop()
  await mkdir(folder, { recursive: true })
  // The other files have their hash in their name. The entry comes last: it refers to them.
  const isEntry = ({ path }) => path === entry
  await Promise.all(outputFiles.filter((file) => !isEntry(file)).map(({ contents, path }) => replace(path, contents)))
  await Promise.all(outputFiles.filter(isEntry).map(({ contents, path }) => replace(path, contents)))
  const inputs = Object.keys(metafile.inputs)
  await replace(join(folder, "LICENSES.txt"), licensesOf(inputs))
  const current = new Set(["LICENSES.txt", ...outputFiles.map(({ path }) => basename(path))])
  for (const name of readdirSync(folder)) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    const isOld = found !== undefined && found.mtimeMs < began - keptMillis
    if (isOld && !current.has(name)) await rm(join(folder, name), { force: true })
  }
  const stamps = Object.fromEntries([...inputs, ...settings(inputs)].map((path) => {
    const stamp = stampOf(path)
    // A file that changes during the build requires another build.
    return [path, Number.parseFloat(stamp) < began - clockLag ? stamp : "changing"]
  }))
  return { entryHash: hashOf(entry), stamps }
}

/** The failure as one line. esbuild has already printed its errors to stderr. */
const explain = (error) => {
  if (error.code === "ERR_MODULE_NOT_FOUND") return "The dependencies are missing. Run `npm ci --loglevel=warn`."
  return `Startlist cannot be built.${error.errors === undefined ? ` ${error.message}` : ""}`
}

/** Builds the program if it is not up to date. Ends this process with status 1 if that fails. */
export const build = async () => {
  if (isCurrent()) return
  const notice = setTimeout(() => console.error("Building Startlist. This takes a few seconds."), 1000)
  try {
    const built = await bundle()
    await promisify(execFile)(process.execPath, [join(folder, "image.js")])
    await replace(manifest, JSON.stringify(built))
  } catch (error) {
    console.error(explain(error))
    process.exit(1)
  }
  clearTimeout(notice)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build()

/** The published packages: packed from a clean copy, installed into an empty project, compiled and run. */
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { startService } from "@startlist/test-support/ServiceProcess"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { freePort } from "@startlist/test-support/FreePort"
import * as TestDatabase from "@startlist/test-support/TestDatabase"

const { execute, published, repository } = CleanCopy

/** The service is a program: it exports nothing. All other packages are libraries. */
const isLibrary = (name: string): boolean => name !== "node"

/** Libraries for users with another Effect, or none. The others share the Effect of their user. */
const bundled = ["embed", "fake"]

/** The modules of a library that Node can import in a project. */
const exported = (project: string, name: string): ReadonlyArray<string> => {
  const { resolve } = createRequire(join(project, "package.json"))
  const dist = join(project, "node_modules/@startlist", name, "dist")
  return readdirSync(dist, { encoding: "utf8", recursive: true })
    .flatMap((path) => /^(?:bundle\/)?(.*)\.js$/.exec(path)?.[1] ?? [])
    .map((module) => module === "index" ? `@startlist/${name}` : `@startlist/${name}/${module}`)
    .filter((specifier) => {
      try {
        return resolve(specifier) !== ""
      } catch {
        return false
      }
    })
}

/** Without examples, which import other packages. */
const withoutComments = (code: string): string => code.replaceAll(/\/\*\*[\s\S]*?\*\//g, "")

class Installation extends Context.Tag("@startlist/node/test/Installation")<Installation, {
  /** The archive of each package, by the name of its folder. */
  readonly archives: ReadonlyMap<string, string>
  /** The paths in each archive. */
  readonly packed: ReadonlyMap<string, ReadonlyArray<string>>
  /** The project into which the libraries were installed. */
  readonly project: string
}>() {}

const compilerOptions = {
  target: "ES2022",
  lib: ["ES2022"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // The compiler checks our declarations, and those of the packages that they import.
  skipLibCheck: false,
  rootDir: "src",
  outDir: "out"
}

/** The two ways in which TypeScript resolves packages with `exports`. The first one also emits the program. */
const settings = {
  "nodenext.json": { module: "NodeNext", moduleResolution: "NodeNext", rewriteRelativeImportExtensions: true },
  "bundler.json": { module: "ESNext", moduleResolution: "Bundler", allowImportingTsExtensions: true, noEmit: true }
}

/** Leaves what earlier builds of other sources leave behind. Nothing of it may be packed. */
const buildEarlier = (copy: string): void => {
  for (const name of published) {
    const dist = join(copy, "packages", name, "dist")
    mkdirSync(join(dist, "program"), { recursive: true })
    for (const stale of ["Removed.js", "program/stale.js", "embedded-0000000000000000.image"]) {
      writeFileSync(join(dist, stale), "stale")
    }
  }
}

const pack = async (copy: string, folder: string): Promise<ReadonlyMap<string, string>> => {
  const said = await execute(copy, "npm", ["run", "pack", "--", "--to", folder])
  const archives = said.trim().split("\n")
  return new Map(archives.map((archive) => [/^startlist-(\w+)-/.exec(basename(archive))?.[1] ?? archive, archive]))
}

const pathsIn = async (archive: string): Promise<ReadonlyArray<string>> =>
  (await execute(".", "tar", ["-tzf", archive])).trim().split("\n").map((path) => path.replace("package/", ""))

/** Installs from npm's cache, which the installation of this repository has filled, or from the registry. */
const npmFlags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"]

/** Examples that can be started, with their other dependencies. */
const examples = ["express", "fastify", "hono", "effect-server"].map((name) => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(repository, "examples", name, "package.json"), "utf8")
  )
  const needs: ReadonlyArray<readonly [string, unknown]> = Object.entries({ ...dependencies, ...devDependencies })
  const isOurs = (needed: string) =>
    needed.startsWith("@startlist/") || ["tsx", "vitest", "@effect/vitest"].includes(needed)
  return { name, needs: needs.flatMap(([needed, range]) => isOurs(needed) ? [] : [`${needed}@${String(range)}`]) }
})

/** Versions of Effect beside the packages that contain their own. */
const beside = { "Effect 4": ["effect@4"], "Effect 3": ["effect@3"], "no Effect": [] }

const writeManifest = (project: string): void => {
  const manifest = { name: "consumer", version: "1.0.0", private: true, type: "module" }
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest))
}

const writeSettings = (project: string): void => {
  for (const [name, options] of Object.entries(settings)) {
    writeFileSync(
      join(project, name),
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, include: ["src"] })
    )
  }
}

const consumerFile = (name: string): string => fileURLToPath(new URL(`consumer/${name}`, import.meta.url))

const install = async (project: string, tarballs: ReadonlyArray<string>) => {
  writeManifest(project)
  // The declarations of @effect/platform-node need those of ws.
  const needs = new Set(["@types/ws@8", ...examples.flatMap((example) => example.needs)])
  await execute(project, "npm", ["install", ...npmFlags, ...tarballs, "@types/node@20", "vitest@3", ...needs])
  mkdirSync(join(project, "src/embedding"), { recursive: true })
  cpSync(consumerFile("main.ts"), join(project, "src/main.ts"))
  cpSync(consumerFile("laws.ts"), join(project, "src/laws.test.ts"))
  for (const name of ["embedding", ...examples.map((example) => example.name)]) {
    cpSync(join(repository, "examples", name, "src"), join(project, "src", name), { recursive: true })
  }
  writeSettings(project)
}

const importAll = (project: string, libraries: ReadonlyArray<string>): void => {
  const modules = libraries.flatMap((name) => exported(project, name))
  const lines = modules.map((module, index) => `export type * as m${index} from "${module}"\n`)
  writeFileSync(join(project, "src/everything.ts"), lines.join(""))
}

const installation = Layer.scoped(
  Installation,
  Effect.gen(function*() {
    const copy = yield* CleanCopy.make
    const tarballs = yield* CleanCopy.emptyFolder("tarballs")
    const project = yield* CleanCopy.emptyFolder("project")
    return yield* Effect.promise(async () => {
      buildEarlier(copy)
      const archives = await pack(copy, tarballs)
      expect([...archives.keys()].sort()).toEqual([...published].sort())
      const packed = new Map<string, ReadonlyArray<string>>()
      for (const [name, archive] of archives) packed.set(name, await pathsIn(archive))
      await install(project, [...archives].flatMap(([name, archive]) => isLibrary(name) ? [archive] : []))
      importAll(project, [...archives.keys()].filter(isLibrary))
      return { archives, packed, project }
    })
  })
)

layer(installation)("the packages", (it) => {
  it.effect("have code, types, sources, licence and a README, and nothing else", () =>
    Effect.gen(function*() {
      const { packed } = yield* Installation
      for (const [name, all] of packed) {
        const expected = [
          "package.json",
          "README.md",
          "LICENSE",
          bundled.includes(name)
            ? "dist/bundle/index.js"
            : isLibrary(name)
            ? "src/index.ts"
            : "dist/program/startlist.js"
        ]
        expect(all, name).toEqual(expect.arrayContaining(expected))
        const isCode = /^(?:dist|src)\/[\w/-]+\.(?:d\.ts|js|ts|tsx)(?:\.map)?$/
        const isOther =
          /^(?:package\.json|README\.md|LICENSE|assets\/[\w.]+|dist\/embedded-\w+\.image|dist\/(?:bundle|program)\/LICENSES\.txt)$/
        expect(all.filter((path) => !isCode.test(path) && !isOther.test(path)), name).toEqual([])
        const isStale = /(?:\.test\.|\.tsbuildinfo$|(?:^|\/)test\/|Removed\.js|stale|-0{16}\.image)/
        expect(all.filter((path) => isStale.test(path)), name).toEqual([])
      }
    }))

  it.effect("contain the source of every source map", () =>
    Effect.gen(function*() {
      const { packed, project } = yield* Installation
      for (const [name, all] of packed) {
        if (!isLibrary(name) || bundled.includes(name)) continue
        const folder = join(project, "node_modules/@startlist", name)
        const maps = all.filter((path) => path.endsWith(".js.map") && !path.includes("/program/"))
        expect(maps.length, name).toBeGreaterThan(5)
        for (const path of maps) {
          const { sources }: { readonly sources: ReadonlyArray<string> } = JSON.parse(
            readFileSync(join(folder, path), "utf8")
          )
          for (const source of sources) expect(existsSync(join(folder, path, "..", source)), source).toBe(true)
        }
      }
    }))

  it.effect("have the same metadata", () =>
    Effect.gen(function*() {
      const { packed, project } = yield* Installation
      const licence = readFileSync(join(repository, "LICENSE"), "utf8")
      const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
      for (const name of packed.keys()) {
        const folder = isLibrary(name)
          ? join(project, "node_modules/@startlist", name)
          : join(repository, "packages", name)
        const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
        expect(manifest, name).toMatchObject({
          name: `@startlist/${name}`,
          version,
          license: "MIT",
          type: "module",
          engines: { node: ">=20.19" }
        })
        if (isLibrary(name)) {
          const index = bundled.includes(name) ? "./dist/bundle/index" : "./dist/index"
          expect(manifest.exports["."], name).toMatchObject({ types: `${index}.d.ts`, default: `${index}.js` })
          expect(manifest.sideEffects, name).toBe(false)
        }
        expect(manifest.description.length, name).toBeGreaterThan(20)
        expect(manifest.keywords.length, name).toBeGreaterThan(4)
        expect(readFileSync(join(folder, "README.md"), "utf8"), name).toMatch(/^```(?:ts|sh)/m)
        expect(readFileSync(join(folder, "LICENSE"), "utf8"), name).toBe(licence)
        expect(readFileSync(join(folder, "README.md"), "utf8"), name).toContain(`# @startlist/${name}`)
      }
    }))

  it.effect("depend on every package that their modules import", () =>
    Effect.gen(function*() {
      const { packed, project } = yield* Installation
      for (const [name, all] of packed) {
        if (!isLibrary(name)) continue
        const folder = join(project, "node_modules/@startlist", name)
        const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
          readFileSync(join(folder, "package.json"), "utf8")
        )
        const modules = all.filter((path) => /^dist\/(?!program\/).+(?:\.d\.ts|\.js)$/.test(path))
        const imported = new Set(modules.flatMap((path) =>
          [
            ...withoutComments(readFileSync(join(folder, path), "utf8"))
              .matchAll(/(?:from |import |import\()"([^".][^"]*)"/g)
          ]
            .map(([, specifier = ""]) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
            .map((needed) => !needed.startsWith("node:") ? needed : path.endsWith(".d.ts") ? "@types/node" : name)
        ))
        const given = new Set([name, ...Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })])
        expect(imported.size, name).toBeGreaterThan(0)
        const missing = [...imported].filter((needed) => !given.has(needed))
        expect(missing, name).toEqual([])
      }
    }))

  it.effect(
    "compile with strict settings in both module resolutions, declarations included, and run",
    () =>
      Effect.gen(function*() {
        const { packed, project } = yield* Installation
        expect([...packed.keys()].filter(isLibrary).flatMap((name) => exported(project, name)).length).toBeGreaterThan(
          50
        )
        yield* Effect.promise(async () => {
          for (const name of Object.keys(settings)) {
            await execute(project, join(repository, "node_modules/.bin/tsc"), ["-p", name])
          }
          const said = await execute(project, process.execPath, ["out/main.js"])
          expect(JSON.parse(said)).toEqual({ refreshed: true, status: 401, email: "ada@b.test" })
          const vitest = join(project, "node_modules/.bin/vitest")
          const some = ["run", "--dir", "out", "-t", "records|the queue"]
          const laws = await execute(project, vitest, some, { NO_COLOR: "1" })
          expect(laws).toMatch(/Tests {2}\d+ passed/)
        })
      })
  )

  for (const { name } of examples) {
    it.scoped(`are enough for examples/${name}: compiled there, it serves`, () =>
      Effect.gen(function*() {
        const { project } = yield* Installation
        const port = yield* Effect.promise(freePort)
        const server = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(process.execPath, [`out/${name}/main.js`], {
              cwd: project,
              env: { ...process.env, PORT: String(port) },
              stdio: ["ignore", "pipe", "inherit"]
            })
          ),
          (started) => Effect.sync(() => started.kill("SIGKILL"))
        )
        yield* Effect.promise(async () => {
          for await (const line of createInterface(server.stdout)) if (line.includes("listens")) break
          const origin = `http://127.0.0.1:${port}`
          const token = await fetch(`${origin}/connect/oauth/token`, { method: "POST" })
          const page = await fetch(`${origin}/connect/account/applications`, { redirect: "manual" })
          expect([token.status, page.status]).toEqual([401, 303])
        })
      }))
  }

  for (const [effect, specifiers] of Object.entries(beside)) {
    it.scoped(`those without Effect install beside ${effect} without a warning, compile and run`, () =>
      Effect.gen(function*() {
        const { archives } = yield* Installation
        const project = yield* CleanCopy.emptyFolder("beside")
        const { url } = Context.get(yield* Layer.build(TestDatabase.layerEmpty), TestDatabase.TestDatabase)
        yield* Effect.promise(async () => {
          writeManifest(project)
          const ours = ["client", ...bundled].map((name) => archives.get(name) ?? expect.fail())
          const needs = [...ours, "@types/node@20", ...specifiers]
          const said = await execute(project, "sh", [
            "-c",
            `npm install ${npmFlags.join(" ")} "$@" 2>&1`,
            "sh",
            ...needs
          ])
          expect(said).not.toMatch(/warn/i)
          const installed = readdirSync(join(project, "node_modules"))
          expect(installed.filter((name) => name === "effect" || name === "@effect")).toEqual(
            specifiers.map(() => "effect")
          )
          mkdirSync(join(project, "src"))
          cpSync(consumerFile("promises.ts"), join(project, "src/promises.ts"))
          writeSettings(project)
          for (const name of Object.keys(settings)) {
            await execute(project, join(repository, "node_modules/.bin/tsc"), ["-p", name])
          }
          const kept = [2, "key: opens none of the secrets in this database. Give the key that sealed them"]
          const run = async (...args: ReadonlyArray<string>) =>
            JSON.parse(await execute(project, process.execPath, ["out/promises.js", "data", ...args]))
          expect(await run(Redacted.value(url))).toEqual({ web: 2, node: 2, folder: kept, server: kept, fake: 4 })
          rmSync(join(project, "node_modules/@electric-sql"), { recursive: true })
          expect((await run()).folder).toBe("database: a folder needs the package @electric-sql/pglite. Install it")
        })
      }))
  }

  it.effect("do not export internal modules", () =>
    Effect.gen(function*() {
      const { project } = yield* Installation
      const ask = (specifier: string) =>
        execute(project, process.execPath, ["-e", `await import("${specifier}")`, "--input-type=module"])
      yield* Effect.promise(() => ask("@startlist/postgres/Seal"))
      const refused = yield* Effect.flip(Effect.tryPromise(() => ask("@startlist/postgres/internal/rows")))
      expect(String(refused.error)).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED")
    }))

  it.effect("export only listed modules", () =>
    Effect.gen(function*() {
      const { project } = yield* Installation
      const ask = (specifier: string) =>
        Effect.tryPromise(() =>
          execute(project, process.execPath, ["-e", `await import("${specifier}")`, "--input-type=module"])
        )
      yield* ask("@startlist/http/Router")
      for (const specifier of ["@startlist/http/oauth/Token", "@startlist/core/ApplicationName"]) {
        const refused = yield* Effect.flip(ask(specifier))
        expect(String(refused.error), specifier).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED")
      }
    }))

  it.scoped(
    "contain the program: it is small with its dependencies, prints help, and serves from the included image",
    () =>
      Effect.gen(function*() {
        const { archives, packed } = yield* Installation
        const project = yield* CleanCopy.emptyFolder("program")
        const folder = yield* CleanCopy.emptyFolder("data")
        yield* Effect.promise(async () => {
          writeFileSync(join(project, "package.json"), JSON.stringify({ name: "operator", private: true }))
          await execute(project, "npm", ["install", ...npmFlags, archives.get("node") ?? expect.fail()])
          const megabytes = Number((await execute(project, "du", ["-sm", "node_modules"])).split("\t")[0])
          expect(megabytes).toBeLessThanOrEqual(60)
          expect(await execute(project, "npx", ["--no-install", "startlist", "--help"])).toContain("serve")
          const images = (packed.get("node") ?? expect.fail()).filter((path) => path.endsWith(".image"))
          expect(images).toHaveLength(1)
        })
        const program = join(project, "node_modules/.bin/startlist")
        // Without the image, the start would have to make one, for which it needs a temporary folder.
        const service = yield* Effect.acquireRelease(
          Effect.promise(() => startService({ DATA_DIR: join(folder, "data"), TMPDIR: "/nonexistent" }, [program])),
          (started) => Effect.promise(() => started.stop("SIGKILL"))
        )
        yield* Effect.promise(async () => {
          for (const path of ["/readyz", "/", "/login", "/docs", "/openapi.json"]) {
            expect((await fetch(`${service.url}${path}`)).status, path).toBe(200)
          }
          const options = { OPERATOR_TOKEN: service.operatorToken }
          const create = ["user", "create", "--url", service.url, "--role", "platform", "--email", "a@b.test"]
          await execute(project, program, [...create, "--password", "correct horse"], options)
          expect(await service.stop()).toEqual({ code: 0, signal: null })
        })
      })
  )
})

/**
 * The image, without Docker: parses the Dockerfile, runs its build and its copies in a clean copy of the repository, and
 * starts the result as a user that can write only the data folder. Node is the version of the image.
 *
 * Not tested: the base image, `npm ci` in it, and Docker itself.
 */
import { expect, layer } from "@effect/vitest"
import { DockerfileParser, type ImageTemplate } from "dockerfile-ast"
import { validate } from "dockerfile-utils"
import { Context, Effect, Layer } from "effect"
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { openAs } from "@startlist/test-support/Consent"
import { Browser } from "@startlist/test-support/Browser"
import { createUser } from "@startlist/test-support/Operator"
import { startService } from "@startlist/test-support/ServiceProcess"
import * as CleanCopy from "@startlist/test-support/CleanCopy"

const { execute, repository } = CleanCopy

const text = readFileSync(join(repository, "Dockerfile"), "utf8")
const dockerfile = DockerfileParser.parse(text)

/** The instructions of a stage with this keyword: their arguments as they are written. */
const instructions = (stage: ImageTemplate, keyword: string): ReadonlyArray<string> =>
  stage.getInstructions().filter((found) => found.getKeyword() === keyword).map((found) =>
    found.getArgumentsContent() ?? ""
  )

/** The stages, in order: the instructions from one FROM to the next. */
const stages = dockerfile.getFROMs().map((from) => {
  const stage = dockerfile.getContainingImage(from.getRange().start)
  if (stage === null) throw new Error("a FROM without a stage")
  return stage
})

const stage = (index: number): ImageTemplate => stages[index] ?? expect.fail(`there is no stage ${index}`)

/** The arguments of the only instruction with this keyword, which is written as JSON. */
const json = (keyword: string): ReadonlyArray<string> =>
  JSON.parse(/\[.*\]/s.exec(instructions(stage(1), keyword)[0] ?? "")?.[0] ?? expect.fail(`no ${keyword}`))

/** Copies one path or, with a `*` in its name, what matches it. */
const copy = (from: string, to: string): void => {
  const [start = "", end] = basename(from).split("*")
  const isMeant = (name: string) => end === undefined ? name === start : name.startsWith(start) && name.endsWith(end)
  const found = readdirSync(dirname(from)).filter(isMeant)
  expect(found, from).not.toEqual([])
  for (const name of found) {
    const target = to.endsWith("/") ? join(to, name) : to
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(dirname(from), name), target, { recursive: true, dereference: true })
  }
}

const environment: Readonly<Record<string, string>> = Object.fromEntries(
  stage(1).getENVs().flatMap((one) => one.getProperties()).map((property) => [
    property.getName(),
    property.getValue() ?? ""
  ])
)

class Image extends Context.Tag("@startlist/node/test/Image")<Image, {
  /** Contents of `WORKDIR` in the last stage. */
  readonly app: string
  /** The binary of Node, where any user can run it. */
  readonly node: string
}>() {}

const version = dockerfile.getInitialARGs()[0]?.getProperty()?.getValue() ?? expect.fail("no version of Node")

const image = Layer.scoped(
  Image,
  Effect.gen(function*() {
    const source = yield* CleanCopy.make
    const app = yield* CleanCopy.emptyFolder("image")
    const bin = yield* CleanCopy.emptyFolder("bin")
    const node = join(bin, "node")
    yield* Effect.promise(async () => {
      const downloaded = await execute(repository, process.execPath, ["tools/scripts/runtimes.mjs", version])
      copyFileSync(downloaded.trim(), node)
      chmodSync(node, 0o755)
      const [installs, builds, ...others] = instructions(stage(0), "RUN")
      expect(installs).toMatch(/npm ci /)
      expect(others).toEqual([])
      await execute(source, "sh", ["-c", builds ?? ""], { PATH: `${bin}:${process.env["PATH"]}` })
      for (const copied of stage(1).getCOPYs()) {
        expect(copied.getFromFlag()?.getValue()).toBe("build")
        const [from = "", to = ""] = copied.getArguments().map((argument) => argument.getValue())
        copy(join(source, from.replace(/^\/source\//, "")), to.endsWith("/") ? `${join(app, to)}/` : join(app, to))
      }
      await execute(app, "chmod", ["-R", "a-w,a+rX", app])
    })
    return { app, node }
  })
)

const nobody = 65_534

/** Without the image of the database, a start would have to make one here. */
const nowhere = "/nonexistent"

/** A user that owns nothing, if this process is root; otherwise the present user. */
const asWhom = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

layer(image)("the image", (it) => {
  it("has a Dockerfile without linter findings, and one version of Node in both stages", () => {
    expect(validate(text)).toEqual([])
    expect(dockerfile.getInitialARGs().map((arg) => arg.getArgumentsContent())).toEqual([`NODE_VERSION=${version}`])
    expect(dockerfile.getFROMs().map((from) => from.getImage())).toEqual(
      Array.from({ length: 2 }, () => "node:${NODE_VERSION}-slim")
    )
  })

  it("runs as a user without privileges and stores its data in a volume", () => {
    expect(instructions(stage(1), "USER")).toEqual(["node"])
    expect(json("VOLUME")).toEqual([environment["DATA_DIR"]])
    expect(instructions(stage(1), "EXPOSE")).toEqual([environment["PORT"]])
    expect([...json("ENTRYPOINT"), ...json("CMD")]).toContain("serve")
  })

  it("does not contain built, installed or secret files, or files only for tests", () => {
    const ignored = readFileSync(join(repository, ".dockerignore"), "utf8").split("\n")
    expect(ignored).toEqual(expect.arrayContaining([".git", "**/node_modules", "**/dist", "**/.env", "**/.startlist"]))
  })

  it.effect("is small: it contains the program, and packages with files beside their code", () =>
    Effect.gen(function*() {
      const { app } = yield* Image
      const said = yield* Effect.promise(() => execute(app, "du", ["-sk", "."]))
      const megabytes = Number.parseInt(said, 10) / 1024
      expect(megabytes).toBeGreaterThan(10)
      expect(megabytes).toBeLessThan(60)
    }))

  it.scoped(
    "serves with code that it cannot write, is healthy, signs users in, and stops",
    () =>
      Effect.gen(function*() {
        const { app, node } = yield* Image
        const data = yield* CleanCopy.emptyFolder("data")
        if (asWhom.uid !== undefined) chownSync(data, asWhom.uid, asWhom.gid)
        const link = /ln -s (\S+) \/usr\/local\/bin\/startlist/.exec(instructions(stage(1), "RUN")[0] ?? "")?.[1] ?? ""
        const program = join(app, link.replace(/^\/app\//, ""))
        const service = yield* Effect.acquireRelease(
          Effect.promise(() =>
            startService({ ...environment, HOST: "127.0.0.1", PORT: "0", DATA_DIR: data, TMPDIR: nowhere }, [program], {
              ...asWhom,
              cwd: app,
              node
            })
          ),
          (started) => Effect.promise(() => started.stop("SIGKILL"))
        )
        yield* Effect.promise(async () => {
          const [, ...check] = json("HEALTHCHECK")
          const PORT = new URL(service.url).port
          await execute(app, node, check, { PORT })
          await expect(execute(app, node, check, { PORT: "1" })).rejects.toThrow("status 1")
          for (
            const path of [
              "/readyz",
              "/",
              "/login",
              "/docs",
              "/openapi.json",
              "/.well-known/oauth-authorization-server"
            ]
          ) {
            expect((await fetch(`${service.url}${path}`)).status, path).toBe(200)
          }
          const html = await (await fetch(`${service.url}/login`)).text()
          const sheet = /href="([^"]+\.css)"/.exec(html)?.[1] ?? expect.fail("a page without a style sheet")
          expect((await fetch(new URL(sheet, service.url))).headers.get("content-type")).toMatch("text/css")
          const athlete = await createUser(service, "athlete")
          const page = await openAs(new Browser(), `${service.url}/account/applications`, athlete)
          expect(page.status).toBe(200)
          expect(page.html).not.toContain("type=\"password\"")
          expect(await service.stop()).toEqual({ code: 0, signal: null })
        })
      })
  )
})

/** Starts a server from layers in one call, and tests the compiler's error for a missing layer. */
import { Audit, Memory, Services } from "@startlist/core"
import { FailureLimit, HttpConfig, Mount, NodeHttp, NodeSecrets, Protocol, WebHttp } from "@startlist/http"
import { Authentication, Pages } from "@startlist/pages"
import { ScriptedCallbacks, TestUsers } from "@startlist/testing"
import { Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"

const authentication = Layer.succeed(Authentication.Authentication, {
  identify: () => Effect.succeedNone,
  signInUrl: () => "/sign-in",
  signOutUrl: "/sign-out"
})

const services = Services.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(Audit.none, Memory.layer, TestUsers.layer, ScriptedCallbacks.layer, NodeSecrets.layerDrawn)
  ),
  Layer.provideMerge(Layer.merge(FailureLimit.layerMemory, HttpConfig.layerLocal))
)

const everything = Mount.make([Protocol.routes, Pages.routes], { notFound: Pages.notFound })

describe("start", () => {
  it("makes a listener, and releases the layers", async () => {
    const events: Array<string> = []
    const resource = Layer.scopedDiscard(
      Effect.acquireRelease(Effect.sync(() => events.push("begun")), () => Effect.sync(() => events.push("ended")))
    )
    const layers = Layer.mergeAll(services, authentication, resource)
    const { dispose, listener } = await NodeHttp.start(everything, layers)
    const server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, { method: "POST" })
    expect(answer.status).toBe(401)
    expect(events).toEqual(["begun"])
    await answer.arrayBuffer()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await dispose()
    expect(events).toEqual(["begun", "ended"])
  })

  it("makes a handler of Web requests, which serves only selected routes and needs only their layers", async () => {
    const { dispose, handler } = await WebHttp.start(Mount.make([Protocol.webhooks]), services)
    const ask = async (path: string) => (await handler(new Request(`https://club.example${path}`))).status
    expect(await ask("/api/v1/webhook_subscription")).toBe(401)
    expect(await ask("/oauth/token")).toBe(404)
    await dispose()
  })

  it("rejects if a layer cannot be built", async () => {
    const broken = Layer.effectDiscard(Effect.fail("the database is away"))
    await expect(NodeHttp.start(everything, Layer.mergeAll(services, authentication, broken)))
      .rejects.toThrow("the database is away")
  })
})

/** Programs by name, with the layers of each. */
const programs = {
  complete: "Layer.mergeAll(services, FailureLimit.layerMemory, HttpConfig.layerLocal)",
  missing: "Layer.merge(services, HttpConfig.layerLocal)",
  needed: "Layer.mergeAll(noCallbacks, FailureLimit.layerMemory, HttpConfig.layerLocal)"
}

const programOf = (layer: string): string =>
  `import { Audit, Memory, Services } from "@startlist/core"
import { FailureLimit, HttpConfig, Mount, NodeHttp, NodeSecrets, Protocol } from "@startlist/http"
import { ScriptedCallbacks, TestUsers } from "@startlist/testing"
import { Layer } from "effect"
const ports = Layer.mergeAll(Audit.none, Memory.layer, TestUsers.layer, NodeSecrets.layerDrawn)
const services = Services.layer.pipe(Layer.provideMerge(Layer.merge(ports, ScriptedCallbacks.layer)))
const noCallbacks = Services.layer.pipe(Layer.provideMerge(ports))
void NodeHttp.start(Mount.make([Protocol.routes]), ${layer})
void [services, noCallbacks, FailureLimit, HttpConfig]
`

/** Output of the compiler for all programs. */
const compile = async (): Promise<string> => {
  const root = fileURLToPath(new URL("../../../..", import.meta.url))
  const folder = join(root, "node_modules/.cache/startlist-types")
  mkdirSync(folder, { recursive: true })
  for (const [name, layer] of Object.entries(programs)) writeFileSync(join(folder, `${name}.ts`), programOf(layer))
  const settings = {
    extends: join(root, "tsconfig.test.json"),
    compilerOptions: { incremental: false, tsBuildInfoFile: null, rootDir: root },
    references: [],
    include: ["*.ts"],
    exclude: []
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
  const tsc = join(createRequire(import.meta.url).resolve("typescript/package.json"), "../bin/tsc")
  const run = promisify(execFile)(process.execPath, [tsc, "-p", folder, "--pretty", "false"])
  return run.then(({ stdout }) => stdout, ({ stdout }: { readonly stdout: string }) => stdout)
}

describe("the compiler", () => {
  let said = ""
  beforeAll(async () => {
    said = await compile()
  })

  /** Its output for one program: the lines from its name to that of the next file. */
  const about = (program: keyof typeof programs): string =>
    said.split(/^(?=\S)/m).filter((error) => error.includes(`startlist-types/${program}.ts`)).join("")

  it("accepts a program in which no layer is missing", () => {
    expect(about("complete")).toBe("")
  })

  it("names the port that no layer provides", () => {
    expect(about("missing")).toMatch(/Property '"no layer provides"' is missing.*"no layer provides": FailureLimit/)
  })

  it("names the port that a layer needs itself", () => {
    expect(about("needed")).toMatch(/Type 'Callbacks' is not assignable to type 'never'/)
  })
})

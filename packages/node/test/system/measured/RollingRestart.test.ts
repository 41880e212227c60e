/** Processes and nodes that are replaced in turn under load: no request fails, and nothing is lost or repeated. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Runtime, type Scope } from "effect"
import { renameSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici"
import { Migrations } from "@startlist/postgres"
import { balance } from "@startlist/test-support/Balancer"
import { eventually } from "@startlist/test-support/Eventually"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import type { Target } from "@startlist/test-support/Operator"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"
import { type Environment, type Program, startlist, startService } from "@startlist/test-support/ServiceProcess"
import { brew, type Storm } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { newer } from "../support/newer.ts"

/** Output of the newer program when it starts. */
const greeting = "the newer program"

/** Programs on the disk: the present one, and a newer one. */
const makePrograms = Effect.map(temporaryFolder, (folder) => {
  const file = (name: string): string => join(folder, `${name}.mjs`)
  const [present, next, installed] = [file("present"), file("newer"), file("startlist")]
  const start = `await import(${JSON.stringify(pathToFileURL(startlist()[0] ?? "").href)})`
  writeFileSync(present, start)
  writeFileSync(next, `console.log(${JSON.stringify(greeting)})\n${start}`)
  symlinkSync(present, installed)
  const upgrade = () => {
    symlinkSync(next, `${installed}.next`)
    renameSync(`${installed}.next`, installed)
  }
  return { next: [next], installed: [installed], upgrade }
})

/** The newer version migrates the tables. */
const migrate = (url: Redacted.Redacted<string>) =>
  Effect.runPromise(Effect.scoped(Effect.provide(Migrations.run(newer), PgClient.layer({ url }))))

const makeNode = (environment: Environment & { readonly DATA_DIR: string }, program: Program) =>
  Effect.acquireRelease(
    Effect.promise(() => startService(environment, program)),
    (service) => Effect.promise(() => service.stop("SIGKILL"))
  )

/** Clients close idle connections after four seconds, as many do. The service keeps them open longer. */
const shortIdle = Effect.acquireRelease(
  Effect.sync(() => {
    const before = getGlobalDispatcher()
    setGlobalDispatcher(new Agent({ keepAliveMaxTimeout: 4000 }))
    return before
  }),
  (before) => Effect.sync(() => setGlobalDispatcher(before))
)

/** Runs `disturb` under load, and expects that no request fails. */
const underLoad = (current: () => Promise<Target>, disturb: (storm: Storm) => Promise<void>) =>
  Effect.gen(function*() {
    yield* shortIdle
    const receiver = yield* makeReceiver
    yield* Effect.promise(async () => {
      const storm = await brew(current, receiver, { writers: 4, chains: 4, strict: true })
      await storm.progress(25)
      await disturb(storm)
      await storm.progress(25)
      expect(await storm.settle()).toEqual([])
      expect(repeated(receiver)).toEqual([])
    })
  })

/** Events that came more than once. */
const repeated = ({ received }: Receiver): ReadonlyArray<unknown> => {
  const ids = received.filter(({ method }) => method === "POST").map(({ headers }) => headers["webhook-id"])
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}

describe("a rolling restart", () => {
  it.scopedLive(
    "of the processes of a node, to the newer program on the disk: no request fails",
    () =>
      Effect.gen(function*() {
        const { url } = yield* makeDatabase
        const { installed, upgrade } = yield* makePrograms
        const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES: "2" }, installed)
        const replaced = new Promise<void>((resolve) =>
          node.child.stdout?.on("data", () => {
            if (node.stdout().includes("every process was replaced")) resolve()
          })
        )
        yield* underLoad(() => Promise.resolve(node), async () => {
          await migrate(url)
          upgrade()
          node.child.kill("SIGHUP")
          await replaced
          expect(node.stdout().split(greeting)).toHaveLength(4)
        })
        expect(node.stderr()).toBe("")
      })
  )

  it.scopedLive(
    "of two nodes, to a newer program: no request fails",
    () =>
      Effect.gen(function*() {
        const { url } = yield* makeDatabase
        const { installed, next } = yield* makePrograms
        const common = { ...installation(Redacted.value(url)), DRAIN_DELAY: "1s" }
        const start = (port: number, program: Program) => makeNode({ ...common, PORT: String(port) }, program)
        const ports = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
        const nodes = yield* Effect.forEach(ports, (port) => start(port, installed))
        const balancer = yield* Effect.acquireRelease(
          Effect.sync(() => balance(nodes.map(({ url: address }) => address))),
          ({ stop }) => Effect.promise(() => stop())
        )
        const operatorToken = nodes[0]?.operatorToken ?? ""
        const run = Runtime.runPromise(yield* Effect.runtime<Scope.Scope>())
        yield* underLoad(async () => ({ url: await balancer.next(), operatorToken }), async (storm) => {
          for (const [index, node] of nodes.entries()) {
            expect(await node.stop()).toEqual({ code: 0, signal: null })
            await storm.progress(10)
            await migrate(url)
            const replacement = await run(start(ports[index] ?? 0, next))
            await eventually(() => Promise.resolve(balancer.isReady(replacement.url)), (isReady) => isReady)
            await storm.progress(10)
          }
        })
      })
  )
})

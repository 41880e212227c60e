/** Processes and nodes that are replaced in turn under load: no request fails, and nothing is lost or repeated. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Scope } from "effect"
import { rename, symlink } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { join } from "node:path"
import type { Pool } from "pg"
import { balance } from "@startlist/test-support/Balancer"
import { eventually } from "@startlist/test-support/Eventually"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import type { Target } from "@startlist/test-support/Operator"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"
import { type Environment, type Program, startService, testProgram } from "@startlist/test-support/ServiceProcess"
import { brew, type Storm } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const program = (name: string) => new URL(`support/${name}Program.ts`, import.meta.url)

const makeNode = (environment: Environment & { readonly DATA_DIR: string }, program: Program) =>
  Effect.acquireRelease(
    Effect.promise(() => startService(environment, program)),
    (service) => Effect.promise(() => service.stop("SIGKILL"))
  )

/** Lets `disturb` run under load, and expects that nobody notices. */
const underLoad = (current: () => Promise<Target>, disturb: (storm: Storm) => Promise<void>) =>
  Effect.gen(function*() {
    const receiver = yield* makeReceiver
    yield* Effect.promise(async () => {
      const storm = await brew(current, receiver, { writers: 6, chains: 6, strict: true })
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

const steps = async (admin: Pool): Promise<ReadonlyArray<string>> => {
  const { rows } = await admin.query("SELECT name FROM startlist_migrations WHERE name LIKE '9%' ORDER BY name")
  return rows.map(({ name }) => name)
}

describe("a rolling restart", () => {
  it.scopedLive(
    "of the processes of a node, to the newer program on the disk: no request fails",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* makeDatabase
        const installed = join(yield* temporaryFolder, "startlist.ts")
        const install = async (name: string) => {
          await symlink(fileURLToPath(program(name)), `${installed}.next`)
          await rename(`${installed}.next`, installed)
        }
        yield* Effect.promise(() => install("present"))
        const node = yield* makeNode(
          { ...installation(Redacted.value(url)), PROCESSES: "2" },
          [...testProgram(program("present")).slice(0, -1), installed]
        )
        const replaced = (times: number) =>
          eventually(
            () => Promise.resolve(node.stdout().split("every process was replaced").length - 1),
            (count) => count === times
          )
        yield* underLoad(() => Promise.resolve(node), async () => {
          node.child.kill("SIGHUP")
          await replaced(1)
          expect(await steps(admin)).toEqual([])
          await install("newer")
          node.child.kill("SIGHUP")
          await replaced(2)
          expect(await steps(admin)).toHaveLength(7)
        })
        expect(node.stderr()).toBe("")
      }),
    240_000
  )

  it.scopedLive(
    "of two nodes of several processes, to a newer program: no request fails",
    () =>
      Effect.gen(function*() {
        const { admin, url } = yield* makeDatabase
        const common = { ...installation(Redacted.value(url)), PROCESSES: "2", DRAIN_DELAY: "1s" }
        const start = (port: number, name: string) =>
          makeNode({ ...common, PORT: String(port) }, testProgram(program(name)))
        const ports = yield* Effect.promise(() => Promise.all([freePort(), freePort()]))
        const nodes = yield* Effect.forEach(ports, (port) => start(port, "present"))
        const balancer = yield* Effect.acquireRelease(
          Effect.sync(() => balance(nodes.map(({ url: address }) => address))),
          ({ stop }) => Effect.promise(() => stop())
        )
        const operatorToken = nodes[0]?.operatorToken ?? ""
        const scope = yield* Effect.scope
        yield* underLoad(async () => ({ url: await balancer.next(), operatorToken }), async (storm) => {
          for (const [index, node] of nodes.entries()) {
            expect(await node.stop()).toEqual({ code: 0, signal: null })
            await storm.progress(10)
            const replacement = await Effect.runPromise(
              Effect.provideService(start(ports[index] ?? 0, "newer"), Scope.Scope, scope)
            )
            await eventually(() => Promise.resolve(balancer.isReady(replacement.url)), (isReady) => isReady)
            await storm.progress(10)
          }
          expect(await steps(admin)).toHaveLength(7)
        })
      }),
    240_000
  )
})

/** A node of several processes: one address, one start line, one page of metrics, one count of failures. */
import { describe, expect, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { outputOf } from "@startlist/test-support/RunProgram"
import { makeService, runStartlist, type Service, startService } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { copyFileSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { join } from "node:path"

class Node extends Context.Tag("@startlist/node/test/Node")<Node, {
  readonly node: Service
  readonly environment: ReturnType<typeof installation>
}>() {}

const node = Layer.scoped(
  Node,
  Effect.gen(function*() {
    const { url } = yield* makeDatabase
    const environment = { ...installation(Redacted.value(url)), PROCESSES: "2" }
    return { environment, node: yield* makeNode(environment) }
  })
)

const on = (test: (node: Service, environment: ReturnType<typeof installation>) => Promise<void>) => () =>
  Effect.flatMap(Node, (given) => Effect.promise(() => test(given.node, given.environment)))

const get = async (service: Service, path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${service.url}${path}`, { headers: { connection: "close", ...headers } })
  return { status: response.status, text: await response.text() }
}

const childrenOf = async ({ child }: Service): Promise<ReadonlyArray<number>> => {
  const pids = await outputOf("ps", ["-o", "pid=", "--ppid", String(child.pid)])
  return pids.trim().split(/\s+/).map(Number)
}

const names = ["1", "2", "delivery", "primary"]

/** The values of a metric, by process. */
const valuesOf = async (service: Service, metric: string): Promise<Readonly<Record<string, number>>> => {
  const { text } = await get(service, "/metrics")
  const samples = [...text.matchAll(new RegExp(`^${metric}\\{process="(\\w+)"\\} (\\S+)$`, "gm"))]
  return Object.fromEntries(samples.map(([, name, value]) => [name, Number(value)]))
}

layer(node)("a node of several processes", (it) => {
  it.effect(
    "logs once that it listens, with the names of its processes",
    on(async (node) => {
      expect(node.stdout().match(/listens on/g)).toHaveLength(1)
      expect(node.stdout()).toContain("; processes: 1, 2, delivery")
      expect(node.stderr()).toBe("")
      expect(await childrenOf(node)).toHaveLength(3)
    })
  )

  it.effect(
    "answers /metrics with the metrics of all processes, from any process",
    on(async (node) => {
      for (let i = 0; i < 4; i++) {
        expect(Object.keys(await valuesOf(node, "process_start_time_seconds")).sort()).toEqual(names)
      }
      const { text } = await get(node, "/metrics")
      const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
      expect(types).toEqual([...new Set(types)])
    })
  )

  it.effect(
    "answers /readyz and /healthz on every process",
    on(async (node) => {
      const answers = await Promise.all(
        ["/readyz", "/healthz", "/readyz", "/healthz", "/readyz", "/healthz"].map((path) => get(node, path))
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    })
  )

  it.effect(
    "counts failures across its processes: 30 of 60 wrong operator tokens get 401, the others 429",
    on(async (node) => {
      const answers = await Promise.all(
        Array.from({ length: 60 }, () => get(node, "/operator/v1/users", { authorization: `Bearer ${"x".repeat(40)}` }))
      )
      const count = (status: number) => answers.filter((answer) => answer.status === status).length
      expect([count(401), count(429)]).toEqual([30, 30])
    })
  )

  it.effect(
    "replaces a process that is killed; the others continue",
    on(async (node) => {
      const before = await valuesOf(node, "process_start_time_seconds")
      const children = await childrenOf(node)
      for (const [index, name] of ["1", "2", "delivery"].entries()) {
        process.kill(children[index] ?? 0, "SIGKILL")
        await eventually(() => Promise.resolve(node.stdout()), (log) => log.includes(`process ${name} ended (SIGKILL)`))
        expect((await get(node, "/readyz")).status).toBe(200)
        await eventually(() => valuesOf(node, "process_start_time_seconds"), (now) => {
          return now[name] !== undefined && now[name] !== before[name]
        })
      }
    })
  )

  it.effect(
    "kills and replaces a process that hangs, and counts it; the others continue",
    on(async (node) => {
      const before = await valuesOf(node, "process_start_time_seconds")
      const [first = 0] = await childrenOf(node)
      process.kill(first, "SIGSTOP")
      await eventually(() => Promise.resolve(node.stdout()), (log) => log.includes("does not answer and is killed"))
      await eventually(
        () => valuesOf(node, "process_start_time_seconds"),
        (now) => names.every((name) => now[name] !== undefined) && names.some((name) => now[name] !== before[name])
      )
      const { text } = await get(node, "/metrics")
      expect(text).toMatch(/^startlist_processes_replaced_total\{process="\w+",reason="hung"\} 1$/m)
      const ages = Object.values(await valuesOf(node, "startlist_process_answer_age_seconds"))
      expect(ages).toHaveLength(3)
      expect(Math.max(...ages)).toBeLessThan(20)
    })
  )

  it.effect(
    "a second node on the same port exits with the message and status of its first process",
    on(async (node, environment) => {
      const ended = await runStartlist(["serve"], { ...environment, PORT: new URL(node.url).port })
      expect(ended).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(
          /^startlist: PORT: \d+ is already in use on 127\.0\.0\.1\. Choose another port\.\n$/
        )
      })
    })
  )
})

/** Connections that stay open, at least one to each of two processes, with a request on each. */
const keepConnections = async (service: Service) => {
  const agent = new Agent({ keepAlive: true })
  const ask = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request(`${service.url}/healthz`, { agent }, (response) => response.resume().once("end", resolve))
      sent.once("error", reject).end()
    })
  await Promise.all([ask(), ask(), ask(), ask()])
  return () => agent.destroy()
}

describe("SIGHUP", () => {
  it.scopedLive("a process that ends while its predecessor still has connections is replaced", () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES: "2" })
      yield* Effect.promise(async () => {
        const release = await keepConnections(node)
        const before = await childrenOf(node)
        const { 1: start } = await valuesOf(node, "process_start_time_seconds")
        node.child.kill("SIGHUP")
        await eventually(() => valuesOf(node, "process_start_time_seconds"), (now) => now[1] !== start)
        const [successor = 0] = (await childrenOf(node)).filter((pid) => !before.includes(pid))
        process.kill(successor, "SIGKILL")
        await eventually(() => childrenOf(node), (now) => now.some((pid) => pid !== successor && !before.includes(pid)))
        expect((await childrenOf(node)).filter((pid) => before.includes(pid))).toHaveLength(3)
        release()
      })
    }))

  it.scopedLive("a program that cannot be started any more: the log says so, and the present processes continue", () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const program = join(yield* temporaryFolder, "node")
      yield* Effect.sync(() => copyFileSync(process.execPath, program))
      const node = yield* Effect.acquireRelease(
        Effect.promise(() =>
          startService({ ...installation(Redacted.value(url)), PROCESSES: "2" }, undefined, { node: program })
        ),
        (service) => Effect.promise(() => service.stop("SIGKILL"))
      )
      yield* Effect.promise(async () => {
        const before = await childrenOf(node)
        rmSync(program)
        node.child.kill("SIGHUP")
        await eventually(
          () => Promise.resolve(node.stdout()),
          (log) => /a new process did not start \(a process cannot be started: spawn \S+ ENOENT\)/.test(log)
        )
        expect(await childrenOf(node)).toEqual(before)
        expect((await get(node, "/readyz")).status).toBe(200)
        process.kill(before[0] ?? 0, "SIGKILL")
        await eventually(() => Promise.resolve(node.stdout()), (log) => log.includes("is replaced in 1 s"))
        expect((await get(node, "/readyz")).status).toBe(200)
        expect(await node.stop()).toEqual({ code: 0, signal: null })
      })
    }))
})

describe("signals", () => {
  it.scopedLive(
    "SIGTERM to the process group ends all processes with status 0 within ten seconds",
    () =>
      Effect.gen(function*() {
        const { url } = yield* makeDatabase
        const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES: "2" })
        const children = yield* Effect.promise(() => childrenOf(node))
        const began = Date.now()
        for (const pid of children) process.kill(pid, "SIGTERM")
        expect(yield* Effect.promise(() => node.stop())).toEqual({ code: 0, signal: null })
        expect(Date.now() - began).toBeLessThan(10_000)
        expect(children.filter((pid) => isAlive(pid))).toEqual([])
        expect(node.stdout()).not.toMatch(/is replaced|ERROR/)
      })
  )

  it.scopedLive(
    "the first process is killed: the others end with it",
    () =>
      Effect.gen(function*() {
        const { url } = yield* makeDatabase
        const node = yield* makeNode({ ...installation(Redacted.value(url)), PROCESSES: "2" })
        const children = yield* Effect.promise(() => childrenOf(node))
        yield* Effect.promise(async () => {
          await node.stop("SIGKILL")
          await eventually(() => Promise.resolve(children.filter((pid) => isAlive(pid))), (alive) => alive.length === 0)
        })
      })
  )

  it.scopedLive(
    "SIGHUP to the only process of a node is only logged",
    () =>
      Effect.gen(function*() {
        const service = yield* makeService()
        service.child.kill("SIGHUP")
        yield* Effect.promise(async () => {
          await eventually(() => Promise.resolve(service.stdout()), (log) => log.includes("SIGHUP is ignored: "))
          expect((await get(service, "/readyz")).status).toBe(200)
        })
      })
  )
})

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Each shipped configuration of a proxy sends requests to the node that is left when the other one is killed. Skipped, by name,
 * where the machine does not have the proxy.
 */
import { describe, expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { repository } from "@startlist/test-support/CleanCopy"
import { obtainTokens } from "@startlist/test-support/Consent"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { type Client, createApplication, createUser } from "@startlist/test-support/Operator"
import { type Service, startService } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

class Nodes extends Context.Tag("@startlist/node/test/Proxies/Nodes")<Nodes, {
  readonly nodes: ReadonlyArray<Service>
  readonly start: (port: string) => Promise<Service>
  readonly token: string
  readonly client: Client
}>() {}

const nodes = Layer.scoped(
  Nodes,
  Effect.gen(function*() {
    const { url } = yield* makeDatabase
    const environment = installation(Redacted.value(url))
    const nodes = [yield* makeNode(environment), yield* makeNode(environment)]
    return yield* Effect.promise(async () => {
      const [first] = nodes
      if (first === undefined) throw new Error("no node")
      const client = await createApplication(first, await createUser(first, "platform"))
      const { access_token } = await obtainTokens(first, client, await createUser(first, "athlete"))
      return {
        nodes,
        start: (port: string) => startService({ ...environment, PORT: port }),
        token: access_token,
        client
      }
    })
  })
)

interface Proxy {
  readonly name: string
  readonly program: string
  /** The shipped configuration for this port and these nodes, without TLS. */
  readonly configure: (text: string, port: number, nodes: ReadonlyArray<string>, folder: string) => string
  readonly args: (file: string) => ReadonlyArray<string>
  /** Whether it loses the body of a request that it sends to the other node. */
  readonly losesBodies?: true
}

const replaceNodes = (text: string, nodes: ReadonlyArray<string>): string =>
  nodes.reduce((changed, node, index) => changed.replaceAll(`node-${index + 1}:8080`, node), text)

const proxies: ReadonlyArray<Proxy & { readonly file: string }> = [
  {
    name: "Caddy",
    program: "/usr/bin/caddy",
    file: "Caddyfile",
    configure: (text, port, nodes) =>
      `{\n\tadmin off\n}\n${replaceNodes(text, nodes).replace("{$SITE}", `http://127.0.0.1:${port}`)}`,
    args: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
    // Version 2.6, as Debian has it.
    losesBodies: true
  },
  {
    name: "HAProxy",
    program: "/usr/sbin/haproxy",
    file: "haproxy.cfg",
    configure: (text, port, nodes) => replaceNodes(text, nodes).replace(/bind :443.*/, `bind 127.0.0.1:${port}`),
    args: (file) => ["-db", "-f", file]
  },
  {
    name: "nginx",
    program: "/usr/sbin/nginx",
    file: "nginx.conf",
    configure: (text, port, nodes, folder) =>
      `daemon off;\npid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\n` +
      replaceNodes(text, nodes)
        .replace(/listen 443 ssl;[\s\S]*?site\.key;/, `listen 127.0.0.1:${port};\n\t\taccess_log off;`),
    args: (file) => ["-c", file]
  }
]

/** Requests that are always in flight. */
const parallel = 8

/** Number of kills, of one node and the other in turn. */
const kills = 4

const untilServed = async (url: string): Promise<void> => {
  while (!await fetch(url).then(({ status }) => status === 401, () => false)) await pause(50)
}

for (const { args, configure, file, losesBodies = false, name, program } of proxies) {
  describe.skipIf(!existsSync(program))(`${name} (skipped without it)`, () => {
    layer(nodes, { excludeTestServices: true })((it) => {
      it.scoped("when a node is killed, only the requests in flight at it fail", () =>
        Effect.gen(function*() {
          const { client, nodes, start, token } = yield* Nodes
          const folder = yield* temporaryFolder
          const port = yield* Effect.promise(freePort)
          const addresses = nodes.map(({ url }) => new URL(url).host)
          const configuration = join(folder, file)
          writeFileSync(
            configuration,
            configure(readFileSync(join(repository, "packaging", file), "utf8"), port, addresses, folder)
          )
          yield* Effect.acquireRelease(
            Effect.sync(() =>
              spawn(program, args(configuration), { stdio: "ignore", env: { ...process.env, HOME: folder } })
            ),
            // Killed, it would leave its workers behind.
            (child) =>
              Effect.promise(async () => {
                const ended = once(child, "exit")
                child.kill("SIGTERM")
                await ended
              })
          )
          yield* Effect.promise(async () => {
            const origin = `http://127.0.0.1:${port}`
            await untilServed(`${origin}/api/v1/athlete`)
            /** When each request that failed was sent, and when the nodes were killed, in milliseconds. */
            const failed: Array<{ readonly sent: number; readonly status: string; readonly isRead: boolean }> = []
            const killed: Array<number> = []
            let served = 0
            let isOver = false
            /** Reads and writes in turn. Every tenth client leaves before its answer, which is no fault of a node. */
            const send = (turn: number) => {
              const signal = turn % 10 === 0 ? AbortSignal.timeout(1) : null
              return turn % 2 === 0
                ? fetch(`${origin}/api/v1/athlete`, { headers: { authorization: `Bearer ${token}` }, signal })
                : fetch(`${origin}/oauth/introspect`, {
                  method: "POST",
                  body: new URLSearchParams({
                    client_id: String(client.client_id),
                    client_secret: client.client_secret,
                    token
                  }),
                  signal
                })
            }
            const ask = async () => {
              for (let turn = 1; !isOver; turn++) {
                const sent = performance.now()
                const status = await send(turn).then(async (response) => {
                  await response.arrayBuffer()
                  return String(response.status)
                }, String)
                if (status === "200") served++
                else if (!status.includes("TimeoutError")) failed.push({ sent, status, isRead: turn % 2 === 0 })
                await pause(2)
              }
            }
            const load = Promise.all(Array.from({ length: parallel }, ask))
            const running = [...nodes]
            for (let kill = 0; kill < kills; kill++) {
              const turn = kill % 2
              const node = running[turn]
              if (node === undefined) throw new Error("no node")
              const before = served
              while (served < before + 100) await pause(20)
              await node.stop("SIGKILL")
              killed.push(performance.now())
              const after = served
              while (served < after + 100) await pause(20)
              running[turn] = await start(new URL(node.url).port)
              // Longer than the pauses in which a proxy leaves a node out, or asks whether it is ready.
              await pause(2_500)
            }
            isOver = true
            await load
            for (const node of running) if (!nodes.includes(node)) await node.stop()
            const late = failed.filter(({ isRead, sent }) =>
              !(losesBodies && !isRead) && !killed.some((at) => sent <= at && at - sent < 1_000)
            )
            expect({ late, isServed: served > kills * 200 }).toEqual({ late: [], isServed: true })
            if (!losesBodies) expect(failed.length).toBeLessThanOrEqual(kills * parallel)
          })
        }))
    })
  })
}

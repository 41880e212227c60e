/** A Prometheus that watches a live service, where the system has one: the numbers, the dashboard and the alert rules. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { eventually } from "@startlist/test-support/Eventually"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { makeReceiver } from "@startlist/test-support/Receiver"
import type { Service } from "@startlist/test-support/ServiceProcess"
import { brew } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const isInstalled = ["prometheus", "promtool"].every((command) => spawnSync(command, ["--version"]).status === 0)

const folder = fileURLToPath(new URL("../../../../docs/operations/", import.meta.url))

/** Returns how to ask a Prometheus that scrapes this service twice a second. */
const makePrometheus = (service: Service) =>
  Effect.gen(function*() {
    const data = yield* temporaryFolder
    const port = yield* Effect.promise(() => freePort())
    const file = join(data, "prometheus.yml")
    writeFileSync(
      file,
      JSON.stringify({
        global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
        rule_files: [`${folder}alerts.yaml`],
        scrape_configs: [{
          job_name: "startlist",
          authorization: { credentials: service.operatorToken },
          static_configs: [{ targets: [new URL(service.url).host] }]
        }]
      })
    )
    const ask = async (path: string, parameters: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters)}`)
      const { data, error } = await response.json()
      expect(error).toBeUndefined()
      return data
    }
    yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const child = spawn("prometheus", [
          `--config.file=${file}`,
          `--storage.tsdb.path=${join(data, "data")}`,
          `--web.listen-address=127.0.0.1:${port}`,
          "--log.level=error"
        ], { stdio: "ignore" })
        await eventually(() => fetch(`http://127.0.0.1:${port}/-/ready`).then(({ ok }) => ok, () => false), (ok) => ok)
        return child
      }),
      (child) =>
        Effect.promise(async () => {
          const exited = once(child, "exit")
          child.kill("SIGKILL")
          await exited
        })
    )
    return ask
  })

/** The queries of the dashboard, as Grafana asks them with all installations and nodes. */
const queries = [
  ...readFileSync(`${folder}grafana-dashboard.json`, "utf8").matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)
].map(([, text = "\"\""]): string =>
  String(JSON.parse(text)).replaceAll(/\$(?:installation|instance)\b/g, ".*").replaceAll("$__rate_interval", "1m")
)

/** `label_values(series, label)`: what Grafana offers for a variable. */
const variables = [
  ...readFileSync(`${folder}grafana-dashboard.json`, "utf8").matchAll(
    /"definition": "label_values\((\w+)(?:\{.*\})?, (\w+)\)"/g
  )
].map(([, series = "", label = ""]) => ({ series, label }))

describe.skipIf(!isInstalled)("a service that Prometheus watches (skipped where there is none)", () => {
  it.scopedLive("gives an answer to every query of the dashboard, and no alert fires", () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const service = yield* makeNode({
        ...installation(Redacted.value(url)),
        INSTALLATION: "blue",
        DELIVERY_DELAYS: "1ms"
      })
      const receiver = yield* makeReceiver
      const ask = yield* makePrometheus(service)
      const storm = yield* Effect.promise(() =>
        brew(() => Promise.resolve(service), receiver, { writers: 2, chains: 2 })
      )
      yield* Effect.promise(async () => {
        await fetch(`${service.url}/oauth/token`, {
          method: "POST",
          body: new URLSearchParams({
            grant_type: "refresh_token",
            client_id: "1",
            client_secret: "x",
            refresh_token: "x"
          })
        })
        await storm.progress(20)
        expect(queries.length).toBeGreaterThan(30)
        for (const query of queries) {
          const { result } = await eventually(() => ask("query", { query }), ({ result }) => result.length > 0)
          expect(result.length, query).toBeGreaterThan(0)
        }
        expect(variables.map(({ label }) => label)).toEqual(["installation", "instance"])
        for (const { label, series } of variables) {
          expect(await ask(`label/${label}/values`, { "match[]": series })).toEqual([
            label === "instance" ? new URL(service.url).host : "blue"
          ])
        }
        const { groups: [{ rules }] } = await eventually(
          () => ask("rules"),
          ({ groups: [{ rules }] }) => rules.every(({ health }: { health: string }) => health !== "unknown")
        )
        for (const { health, lastError, name, state } of rules) {
          expect([name, health, lastError, state]).toEqual([name, "ok", undefined, "inactive"])
        }
        expect(await storm.settle()).toEqual([])
        const page = await (await fetch(`${service.url}/metrics`)).text()
        const { status, stderr, stdout } = spawnSync("promtool", ["check", "metrics"], {
          input: page,
          encoding: "utf8"
        })
        expect(status, stdout + stderr).toBe(0)
      })
    }), 240_000)
})

/** A real Prometheus, if it is installed, scrapes the service: metrics, dashboard and alert rules. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { refresh } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { freePort } from "@startlist/test-support/FreePort"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { isInstalled, runProgram } from "@startlist/test-support/RunProgram"
import type { Service } from "@startlist/test-support/ServiceProcess"
import { brew } from "@startlist/test-support/Storm"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

const isComplete = isInstalled("prometheus") && isInstalled("promtool")

const folder = fileURLToPath(new URL("../../../../docs/operations/", import.meta.url))

/** Starts a Prometheus that scrapes this service every second. Returns a function that queries it. */
const makePrometheus = (service: Service) =>
  Effect.gen(function*() {
    const data = yield* temporaryFolder
    const port = yield* Effect.promise(() => freePort())
    const file = join(data, "prometheus.yml")
    writeFileSync(
      file,
      JSON.stringify({
        global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
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

/** The queries of the dashboard, as Grafana sends them for all installations and nodes. */
const queries = [
  ...readFileSync(`${folder}grafana-dashboard.json`, "utf8").matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)
].map(([, text = "\"\""]): string =>
  String(JSON.parse(text)).replaceAll(/\$(?:installation|instance)\b/g, ".*").replaceAll("$__rate_interval", "1m")
)

/** `label_values(series, label)`: the values that Grafana offers for a variable. */
const variables = [
  ...readFileSync(`${folder}grafana-dashboard.json`, "utf8").matchAll(
    /"definition": "label_values\((\w+)(?:\{.*\})?, (\w+)\)"/g
  )
].map(([, series = "", label = ""]) => ({ series, label }))

describe.skipIf(!isComplete)("a service scraped by Prometheus (skipped without Prometheus)", () => {
  it.scopedLive("has results for every query of the dashboard, and no alert fires", () =>
    Effect.gen(function*() {
      const { url } = yield* makeDatabase
      const service = yield* makeNode({
        ...installation(Redacted.value(url)),
        PROCESSES: "2",
        INSTALLATION: "blue",
        DELIVERY_DELAYS: "1ms"
      })
      const receiver = yield* makeReceiver
      const ask = yield* makePrometheus(service)
      const storm = yield* Effect.promise(() =>
        brew(() => Promise.resolve(service), receiver, { writers: 2, chains: 2 })
      )
      yield* Effect.promise(async () => {
        await storm.progress(20)
        expect(queries.length).toBeGreaterThan(30)
        for (const query of queries) {
          const look = async () => {
            // One panel has a result only if there are refusals.
            await refresh(service, { client_id: 1, client_secret: "x" }, "x")
            return { query, ...await ask("query", { query }) }
          }
          await eventually(look, ({ result }) => result.length > 0)
        }
        expect(variables.map(({ label }) => label)).toEqual(["installation", "instance"])
        for (const { label, series } of variables) {
          expect(await ask(`label/${label}/values`, { "match[]": series })).toEqual([
            label === "instance" ? new URL(service.url).host : "blue"
          ])
        }
        expect(await ask("label/process/values")).toEqual(["1", "2", "delivery", "primary"])
        const { groups: [{ rules }] } = await eventually(
          () => ask("rules"),
          ({ groups: [{ rules }] }) => rules.every(({ health }: { health: string }) => health !== "unknown")
        )
        for (const { health, lastError, name, state } of rules) {
          expect([name, health, lastError]).toEqual([name, "ok", undefined])
          // On a busy machine, token requests may be slow for a while.
          expect([name, state]).not.toEqual([name, "firing"])
        }
        expect(await storm.settle()).toEqual([])
        const page = await (await fetch(`${service.url}/metrics`)).text()
        const { stderr, stdout } = await runProgram("promtool", ["check", "metrics"], { input: page })
        // prom-client, the reference client of Node, gives these gauges names of counters.
        expect((stdout + stderr).split("\n").filter((line) => !/^(?:nodejs_active_\w+_total .*)?$/.test(line))).toEqual(
          []
        )
      })
    }))
})

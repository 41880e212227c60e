/**
 * Deployment files: every setting in them exists, and everything that must be closed is closed. systemd checks the unit
 * if it is installed. Not tested: Docker Compose and Caddy themselves.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import * as Configuration from "../../../src/settings/Configuration.ts"
import { repository } from "@startlist/test-support/CleanCopy"
import { isInstalled, runProgram } from "@startlist/test-support/RunProgram"

const read = (path: string): string => readFileSync(join(repository, path), "utf8")

const configured = new Set(
  [...read("docs/configuration.md").matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name)
  )
)

/** Replaces variables like Compose: `${NAME}` and `${NAME:?message}`. */
const interpolate = (text: string, given: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, name) => given[name] ?? expect.fail(`${name} is not given`))

describe("compose.yaml", () => {
  const text = read("compose.yaml")
  const given = {
    SITE: "auth.example.org",
    POSTGRES_PASSWORD: "a-password",
    OPERATOR_TOKEN: "t".repeat(32),
    MASTER_KEY: Buffer.alloc(32, 3).toString("base64")
  }
  const { networks, services, volumes } = parse(interpolate(text, given), { merge: true })
  const nodes = Object.entries<Record<string, unknown>>(services).filter(([name]) => name.startsWith("node-"))

  it("takes every secret from the environment, and says how to create a missing one", () => {
    const asked = [...text.matchAll(/\$\{(\w+)(?::\?([^}]*))?\}/g)]
    expect(new Set(asked.map(([, name]) => name))).toEqual(new Set(Object.keys(given)))
    for (const [all, , message] of asked) expect(message, all).toMatch(/./)
  })

  it.effect("gives both nodes the same settings, which exist and are consistent", () =>
    Effect.gen(function*() {
      expect(nodes.map(([name]) => name)).toEqual(["node-1", "node-2"])
      const [one, other] = nodes.map(([, node]) => node)
      expect(one).toEqual(other)
      const environment: Readonly<Record<string, string>> = Object(one?.["environment"])
      for (const name of Object.keys(environment)) expect(configured, name).toContain(name)
      const configuration = yield* Configuration.decode({ HOST: "0.0.0.0", ...environment }, false)
      expect(configuration.callbackAllow).toEqual([])
      expect(configuration.trustedProxies).toEqual([networks.outside.ipam.config[0].subnet])
    }))

  it("gives the nodes and the proxy no privileges and no writable files, and publishes only the proxy", () => {
    for (const [name, service] of [...nodes, ["proxy", services.proxy] as const]) {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        tmpfs: ["/tmp"]
      })
    }
    for (const [name, node] of nodes) expect(node, name).not.toHaveProperty("ports")
    expect(services.database).not.toHaveProperty("ports")
    expect(services.database.networks).toEqual(["inside"])
    expect(networks.inside.internal).toBe(true)
    expect(services.proxy.networks).toEqual(["outside"])
  })

  it("limits the memory and the log of every container", () => {
    for (const [name, service] of Object.entries<Record<string, unknown>>(services)) {
      expect(service, name).toMatchObject({
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        logging: { options: { "max-size": "10m" } }
      })
    }
  })

  it("starts each service when its dependencies are healthy", () => {
    const needed = (service: { readonly depends_on?: object } = {}) => service.depends_on ?? {}
    const well = { condition: "service_healthy" }
    for (const [, node] of nodes) expect(needed(node)).toEqual({ database: well })
    expect(needed(services.proxy)).toEqual({ "node-1": well, "node-2": well })
    for (const [, node] of nodes) expect(JSON.stringify(node["healthcheck"])).toContain("/readyz")
    expect(services.database.healthcheck.test).toContain("pg_isready")
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(["database", "certificates"]))
  })
})

describe("the proxy", () => {
  const text = read("packaging/Caddyfile")

  it("checks the readiness of both nodes, and does not publish operator endpoints", () => {
    expect(text).toContain("node-1:8080 node-2:8080")
    expect(text).toMatch(/^\t\thealth_uri \/readyz$/m)
    expect(text).toMatch(/^\t@inside path \/operator\/\* \/metrics /m)
    expect(text).toMatch(/^\trespond @inside 404$/m)
  })
})

describe.each(["startlist", "startlist@"])("the systemd unit %s", (unit) => {
  const path = join(repository, `packaging/${unit}.service`)
  const text = readFileSync(path, "utf8")

  it("has its own user and can write only its data folder", () => {
    for (const line of ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes"]) {
      expect(text).toContain(`\n${line}\n`)
    }
    expect(text.includes("\nStateDirectory=startlist\n")).toBe(unit === "startlist")
    const names = [...text.matchAll(/(?:^Environment=| )([A-Z_]+)=/gm)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(2)
    for (const name of names.filter((one) => one !== "NODE_ENV")) expect(configured, name).toContain(name)
  })

  it.skipIf(!isInstalled("systemd-analyze"))("is valid and hardened (needs systemd-analyze)", async () => {
    const verified = await runProgram("systemd-analyze", ["verify", path])
    // The program need not be installed on this machine.
    const found = verified.stderr.split("\n").filter((line) => line !== "" && !line.includes("is not executable"))
    expect(found.filter((line) => line.includes(`/${unit}`) || line.startsWith(unit))).toEqual([])
    const judged = await runProgram("systemd-analyze", ["security", "--offline=true", path])
    const exposure = /exposure level for startlist\S*\.service: ([\d.]+)/.exec(judged.stdout)?.[1]
    expect(Number(exposure)).toBeLessThan(2)
  })
})

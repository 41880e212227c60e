/** Settings: the meaning of each variable, and one line that names a wrong one. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, LogLevel, Option, Redacted } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Policy } from "@startlist/core"
import { SignInLimit } from "@startlist/pages"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import * as Configuration from "../src/settings/Configuration.ts"

const decode = (environment: Readonly<Record<string, string>>) => Configuration.decode(environment, false)

const key = Buffer.alloc(32, 7).toString("base64")

const token = "t".repeat(32)

const database = { DATABASE_URL: "postgres://me:secret-word@db.test:5432/startlist" }

/** The tables of settings, aligned as `dprint` aligns them. */
const tableOf = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: ReadonlyArray<string>) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n")
}

it("docs/configuration.md has a row for each setting: vitest -u writes the tables", async () => {
  const file = fileURLToPath(new URL("../../../docs/configuration.md", import.meta.url))
  const columns = ["variable", "values", "default", "meaning"]
  const tables = Configuration.tables.map((settings) =>
    tableOf([
      columns,
      ...settings.map(({ expected, initially, name, text }) => [`\`${name}\``, expected, initially, text])
    ])
  )
  const before = readFileSync(file, "utf8")
  const page = before.replace(/^\| variable .*\n(?:\|.*\n)+/gm, () => `${tables.shift()}\n`)
  expect(tables).toEqual([])
  await expect(page).toMatchFileSnapshot(file)
})

describe("defaults", () => {
  it.effect("an empty environment gives the documented defaults", () =>
    Effect.gen(function*() {
      const given = yield* decode({})
      expect(given).toMatchObject({
        host: "127.0.0.1",
        port: 8080,
        dataDir: ".startlist",
        callbackAllow: ["127.0.0.0/8", "::1/128"],
        trustedProxies: [],
        logFormat: "json",
        logLevel: LogLevel.Info,
        authUrl: Option.none(),
        baseUrl: Option.none(),
        databaseUrl: Option.none()
      })
      expect([...given.roles]).toEqual(["api", "worker"])
      expect(given.policy.requireRedirectUri).toBe(false)
      expect(given.policy.scopes).toEqual(["profile:read", "profile:write", "read", "write", "read+write"])
      expect(given.policy.deliveryDelays.map(Duration.toSeconds)).toEqual([5, 60])
      expect([given.policy.deliveryConcurrency, given.policy.deliveryPerSubscription]).toEqual([256, 16])
    }))

  it.effect("an empty variable counts as unset", () =>
    Effect.gen(function*() {
      const given = yield* decode({ PORT: "", DATABASE_URL: " ", SCOPES: "" })
      expect([given.port, given.databaseUrl]).toEqual([8080, Option.none()])
    }))

  it.effect("a terminal gets the pretty log, unless LOG_FORMAT says otherwise", () =>
    Effect.gen(function*() {
      expect((yield* Configuration.decode({}, true)).logFormat).toBe("pretty")
      expect((yield* Configuration.decode({ LOG_FORMAT: "json" }, true)).logFormat).toBe("json")
    }))

  it.effect("callbacks on loopback are allowed by default only if every public address is on loopback", () =>
    Effect.gen(function*() {
      for (const HOST of ["localhost", "::1", "127.0.0.2"]) {
        expect((yield* decode({ HOST })).callbackAllow).toEqual(["127.0.0.0/8", "::1/128"])
      }
      for (const HOST of ["0.0.0.0", "::", "192.168.1.7", "example.org", "127.example.org"]) {
        expect((yield* decode({ HOST })).callbackAllow).toEqual([])
      }
      const behindProxy = ["https://auth.example.org", "http://auth.example.org", "https://127.example.org"]
      for (const url of behindProxy) {
        expect((yield* decode({ AUTH_URL: url })).callbackAllow).toEqual([])
        expect((yield* decode({ AUTH_URL: "http://127.0.0.1:8080", BASE_URL: url })).callbackAllow).toEqual([])
        expect((yield* decode({ BASE_URL: url })).callbackAllow).toEqual([])
      }
      for (const AUTH_URL of ["http://localhost:9000", "https://[::1]", "http://127.0.0.1"]) {
        expect((yield* decode({ AUTH_URL, HOST: "0.0.0.0" })).callbackAllow).toEqual(["127.0.0.0/8", "::1/128"])
      }
      expect((yield* decode({ CALLBACK_ALLOW: "10.0.0.0/8" })).callbackAllow).toEqual(["10.0.0.0/8"])
    }))

  it.effect("PROFILE=rfc is the strict preset, and does not change other settings", () =>
    Effect.gen(function*() {
      const { policy } = yield* decode({ PROFILE: "rfc", SCOPES: "a, b+c" })
      expect(policy).toMatchObject({ ...Policy.rfc, scopes: ["a", "b+c"] })
    }))

  it.effect("a replay is only refused unless PROFILE=rfc or REPLAY=revoke; REPLAY overrides the profile", () =>
    Effect.gen(function*() {
      const given = (environment: Record<string, string>) =>
        Effect.map(decode(environment), ({ policy }) => policy.replay)
      expect([yield* given({}), yield* given({ PROFILE: "rfc" })]).toEqual(["refuse", "revoke"])
      for (const PROFILE of ["documented", "rfc"]) {
        for (const REPLAY of ["refuse", "revoke"]) expect(yield* given({ PROFILE, REPLAY })).toBe(REPLAY)
      }
    }))

  it.effect("the webhook API needs no scope unless WEBHOOK_SCOPE names one", () =>
    Effect.gen(function*() {
      expect((yield* decode({})).policy.webhookScope).toEqual(Option.none())
      const { policy } = yield* decode({ SCOPES: "read,webhooks", WEBHOOK_SCOPE: "webhooks" })
      expect(policy.webhookScope).toEqual(Option.some("webhooks"))
    }))

  it.effect("a request without a scope is refused unless DEFAULT_SCOPE names scopes of SCOPES", () =>
    Effect.gen(function*() {
      expect((yield* decode({})).policy.defaultScope).toEqual([])
      const { policy } = yield* decode({ DEFAULT_SCOPE: "profile:read, read" })
      expect(policy.defaultScope).toEqual(["profile:read", "read"])
    }))

  it.effect("a refresh without a key is not repeated unless REFRESH_RETRY is set", () =>
    Effect.gen(function*() {
      const given = (environment: Record<string, string>) =>
        Effect.map(decode(environment), ({ policy }) => Duration.toMillis(policy.refreshRetryWithoutKey))
      expect([yield* given({}), yield* given({ REFRESH_RETRY: "90s" })]).toEqual([0, 90_000])
    }))

  it.effect("there is one more attempt than there are delays", () =>
    Effect.gen(function*() {
      const { policy } = yield* decode({ DELIVERY_DELAYS: "500ms, 1.5s,2m,1h" })
      expect(policy.deliveryDelays.map(Duration.toMillis)).toEqual([500, 1500, 120_000, 3_600_000])
    }))

  it.effect("by default the audit is stored for a year, a stop has no delay, and callbacks get no trace", () =>
    Effect.gen(function*() {
      const settings = ({ auditRetention, callbackTraceparent, drainDelay }: Configuration.Configuration) => [
        Duration.toDays(auditRetention),
        Duration.toMillis(drainDelay),
        callbackTraceparent
      ]
      expect(settings(yield* decode({}))).toEqual([365, 0, false])
      const given = { AUDIT_RETENTION: "30d", DRAIN_DELAY: "1500ms", CALLBACK_TRACEPARENT: "true" }
      const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" }
      expect(settings(yield* decode({ ...given, ...collector }))).toEqual([30, 1500, true])
    }))

  it.effect("a switch is on or off, or true or false, in any case", () =>
    Effect.gen(function*() {
      const isOn = (value: string) =>
        Effect.map(decode({ PREPARED_STATEMENTS: value }), ({ preparedStatements }) => preparedStatements)
      expect(yield* Effect.forEach(["", "on", "true", "ON", "off", "false", "Off"], isOn)).toEqual(
        [true, true, true, true, false, false, false]
      )
      const { message } = yield* Effect.flip(isOn("no"))
      expect(message).toBe(`PREPARED_STATEMENTS: "no" is not one of on, off, true, false`)
    }))

  it.effect("a duration of 0 needs no unit", () =>
    Effect.gen(function*() {
      const zeros = { REFRESH_RETRY: "0", DRAIN_DELAY: "0", SECRET_OVERLAP: "0", DELIVERY_DELAYS: "0,5s" }
      const { drainDelay, policy } = yield* decode(zeros)
      const all = [policy.refreshRetryWithoutKey, drainDelay, policy.secretOverlap, ...policy.deliveryDelays]
      expect(all.map(Duration.toMillis)).toEqual([0, 0, 0, 0, 5000])
    }))

  it.effect("AUTH_URL and BASE_URL are origins, with or without a trailing slash", () =>
    Effect.gen(function*() {
      const given = yield* decode({ AUTH_URL: "https://auth.test/", BASE_URL: "https://api.test:8443" })
      expect([given.authUrl, given.baseUrl]).toEqual([
        Option.some("https://auth.test"),
        Option.some("https://api.test:8443")
      ])
    }))

  it.effect("a database with its two secrets is accepted", () =>
    Effect.gen(function*() {
      const given = yield* decode({ ...database, OPERATOR_TOKEN: token, MASTER_KEY: key })
      expect(Option.map(given.databaseUrl, Redacted.value)).toEqual(Option.some(database.DATABASE_URL))
      expect(Option.map(given.masterKeys, (keys) => keys.map(Redacted.value))).toEqual(Option.some([key]))
    }))
})

const wrong: ReadonlyArray<readonly [name: string, value: string, others?: Readonly<Record<string, string>>]> = [
  ["HOST", "not a host"],
  ["PORT", "65536"],
  ["PORT", "-1"],
  ["PORT", "80a"],
  ["PORT", "1e3"],
  ["AUTH_URL", "auth.test"],
  ["AUTH_URL", "ftp://auth.test"],
  ["AUTH_URL", "https://auth.test/path"],
  ["AUTH_URL", "https://auth.test?x=1"],
  ["AUTH_URL", "https://user@auth.test"],
  ["BASE_URL", "https://api.test/#x"],
  ["DATABASE_URL", "mysql://db.test/x"],
  ["DATABASE_URL", "db.test"],
  ["OPERATOR_TOKEN", "two words of more than 32 characters"],
  ["OPERATOR_TOKEN", `umläut${"x".repeat(32)}`],
  ["OPERATOR_TOKEN", "x".repeat(31)],
  ["MASTER_KEY", Buffer.alloc(31, 7).toString("base64")],
  ["MASTER_KEY", Buffer.alloc(33, 7).toString("base64")],
  ["MASTER_KEY", "secret-word, not base64"],
  ["MASTER_KEY", `${key},secret-word`],
  ["MASTER_KEY", ","],
  ["DATABASE_CONNECTIONS", "1"],
  ["PROCESSES", "0"],
  ["PROCESSES", "65"],
  ["PROCESSES", "all"],
  ["ACCESS_TOKEN_LIFETIME", "59s"],
  ["ACCESS_TOKEN_LIFETIME", "8 moons"],
  ["ACCESS_TOKEN_LIFETIME", "28800"],
  ["REFRESH_TOKEN_IDLE", "23 hours"],
  ["CODE_LIFETIME", "11 minutes"],
  ["SECRET_OVERLAP", "31d"],
  ["CALLBACK_TIMEOUT", "6s"],
  ["DELIVERY_RETENTION", "0d"],
  ["DELIVERY_RETENTION", "0"],
  ["SIGN_IN_FAILURES", "2"],
  ["SIGN_IN_FAILURES_PER_ACCOUNT", "9"],
  ["SIGN_IN_FAILURES_PER_NETWORK", "40", { SIGN_IN_FAILURES: "41", SIGN_IN_FAILURES_PER_ACCOUNT: "41" }],
  ["AUDIT_RETENTION", "29d"],
  ["AUDIT_RETENTION", "a year"],
  ["DRAIN_DELAY", "4s"],
  ["CALLBACK_TRACEPARENT", "yes"],
  ["CALLBACK_TRACEPARENT", "true"],
  ["PROFILE", "strict"],
  ["REPLAY", "ignore"],
  ["SCOPES", "a b"],
  ["SCOPES", "a,a"],
  ["SCOPES", "a,\"b\""],
  ["SCOPES", ","],
  ["WEBHOOK_SCOPE", "read,write"],
  ["WEBHOOK_SCOPE", "read write"],
  ["WEBHOOK_SCOPE", "webhooks"],
  ["WEBHOOK_SCOPE", "read", { SCOPES: "write" }],
  ["CALLBACK_ALLOW", "10.0.0.0"],
  ["CALLBACK_ALLOW", "10.0.0.0/33"],
  ["CALLBACK_ALLOW", "10.0.0.0/8,localhost/8"],
  ["CALLBACK_ALLOW", "fd00::/129"],
  ["REFRESH_RETRY", "11m"],
  ["REFRESH_RETRY", "soon"],
  ["DELIVERY_DELAYS", "5"],
  ["DELIVERY_DELAYS", "5s;60s"],
  ["DELIVERY_DELAYS", "5s,-1s"],
  ["DELIVERY_DELAYS", "8d"],
  ["DELIVERY_DELAYS", Array.from({ length: 20 }, () => "1s").join(",")],
  ["DELIVERY_CONCURRENCY", "0"],
  ["DELIVERY_CONCURRENCY", "ten"],
  ["DELIVERY_PER_SUBSCRIPTION", "0"],
  ["DELIVERY_PER_SUBSCRIPTION", "9", { DELIVERY_CONCURRENCY: "8" }],
  ["ROLES", "api,delivery"],
  ["TRUSTED_PROXIES", "10.0.0.0/8/8"],
  ["LOG_FORMAT", "xml"],
  ["LOG_LEVEL", "loud"],
  ["LOG_REQUESTS", "yes"],
  ["LOG_REQUESTS", "true", { LOG_LEVEL: "warning" }],
  ["INSTALLATION", "two\nlines"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "secret-word"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "api key=secret-word"],
  ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "api-key=secret-word%0d%0aX: y"],
  ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "api-key=%zz"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_RESOURCE_ATTRIBUTES", "team"],
  ["OTEL_TRACES_EXPORTER", "zipkin"],
  ["OTEL_TRACES_SAMPLER", "jaeger_remote"],
  ["OTEL_TRACES_SAMPLER_ARG", "1.5"],
  ["OTEL_SDK_DISABLED", "on"]
]

describe("a wrong setting", () => {
  for (const [name, value, others] of wrong) {
    const given = { ...others, [name]: value }
    it.effect(`${Object.entries(given).map((pair) => pair.join("=")).join(" ").slice(0, 60)} is refused by name`, () =>
      Effect.gen(function*() {
        const { message } = yield* Effect.flip(decode(given))
        expect(message.startsWith(`${name}: `)).toBe(true)
        expect(message.split("\n")).toHaveLength(1)
        expect(message).not.toContain("secret-word")
      }))
  }

  for (const missing of ["OPERATOR_TOKEN", "MASTER_KEY"]) {
    it.effect(`DATABASE_URL without ${missing} is a contradiction that names it`, () =>
      Effect.gen(function*() {
        const complete = { ...database, OPERATOR_TOKEN: token, MASTER_KEY: key }
        const { message } = yield* Effect.flip(decode({ ...complete, [missing]: "" }))
        expect(message).toBe(`${missing}: must be set together with DATABASE_URL, the same on every node`)
      }))
  }
})

describe("a misspelt variable stops the start", () => {
  const refused: ReadonlyArray<readonly [environment: Readonly<Record<string, string>>, given: string, meant: string]> =
    [
      [{ DATABSE_URL: "postgres://me:secret-word@db.test/startlist" }, "DATABSE_URL", "DATABASE_URL"],
      [{ DELIVERY_DELAY: "1s", LOGLEVEL: "debug" }, "DELIVERY_DELAY", "DELIVERY_DELAYS"],
      [{ LOGLEVEL: "debug", PORT: "wrong" }, "LOGLEVEL", "LOG_LEVEL"],
      [{ data_dir: "/data" }, "data_dir", "DATA_DIR"],
      [{ MASTER_KEYFILE: "/run/secrets/key" }, "MASTER_KEYFILE", "MASTER_KEY_FILE"],
      [{ ROLE: "api" }, "ROLE", "ROLES"]
    ]
  for (const [environment, given, meant] of refused) {
    it.effect(JSON.stringify(environment), () =>
      Effect.gen(function*() {
        const { message } = yield* Effect.flip(decode(environment))
        expect(message).toBe(
          `${given}: there is no such setting. If you mean ${meant}, rename it; otherwise remove it.`
        )
      }))
  }

  const taken: ReadonlyArray<Readonly<Record<string, string>>> = [
    { ROLE: "api", ROLES: "api" },
    { DATABSE_URL: " " },
    { HOME: "/root", PATH: "/bin", PWD: "/", LANG: "C", USER: "me", HOSTNAME: "node", XDG_DATA_DIRS: "/share" }
  ]
  for (const environment of taken) {
    it.effect(`${JSON.stringify(environment)} is not one`, () => decode(environment))
  }
})

describe("secrets in files", () => {
  const file = (content: string) =>
    Effect.map(temporaryFolder, (folder) => {
      const path = join(folder, "secret")
      writeFileSync(path, content)
      return path
    })

  it.scoped("all three are read, without the newline at their end", () =>
    Effect.gen(function*() {
      const given = yield* decode({
        DATABASE_URL_FILE: yield* file(`${database.DATABASE_URL}\n`),
        OPERATOR_TOKEN_FILE: yield* file(`${token}\r\n`),
        MASTER_KEY_FILE: yield* file(key)
      })
      expect(Option.map(given.databaseUrl, Redacted.value)).toEqual(Option.some(database.DATABASE_URL))
      expect(Option.map(given.operatorToken, Redacted.value)).toEqual(Option.some(token))
      expect(Option.map(given.masterKeys, (keys) => keys.map(Redacted.value))).toEqual(Option.some([key]))
    }))

  it.scoped("a secret that is set twice, and a missing, empty or wrong file, are refused by name", () =>
    Effect.gen(function*() {
      const message = (environment: Readonly<Record<string, string>>) =>
        Effect.map(Effect.flip(decode(environment)), ({ message }) => message)
      const [good, empty, wrong] = [yield* file(token), yield* file("\n"), yield* file("secret-word")]
      expect(yield* message({ OPERATOR_TOKEN: token, OPERATOR_TOKEN_FILE: good })).toBe(
        "OPERATOR_TOKEN_FILE: OPERATOR_TOKEN is set too. Remove one of them."
      )
      expect(yield* message({ MASTER_KEY_FILE: `${good}-missing` })).toBe(
        `MASTER_KEY_FILE: the file ${good}-missing cannot be read (ENOENT)`
      )
      expect(yield* message({ MASTER_KEY_FILE: empty })).toBe(`MASTER_KEY_FILE: the file ${empty} is empty`)
      const refused = yield* message({ DATABASE_URL_FILE: wrong })
      expect(refused).toMatch(/^DATABASE_URL: the value is not a URL/)
      expect(refused).not.toContain("secret-word")
    }))
})

describe("the platform", () => {
  it.scoped("has a name, a logo, a colour and links, and a wrong one is refused by name", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = (name: string, content: string | Buffer) => {
        writeFileSync(join(folder, name), content)
        return join(folder, name)
      }
      const svg = "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"
      const { platform } = yield* decode({
        PLATFORM_NAME: "Laufportal",
        PLATFORM_LOGO: file("logo", svg),
        PLATFORM_COLOR: "#7a1f5c",
        PLATFORM_SUPPORT: "mailto:help@laufportal.example",
        PLATFORM_PRIVACY_POLICY: "https://laufportal.example/privacy"
      })
      expect(platform).toEqual({
        name: "Laufportal",
        logo: Option.some({ type: "image/svg+xml", content: new Uint8Array(Buffer.from(svg)) }),
        color: Option.some("#7a1f5c"),
        support: Option.some("mailto:help@laufportal.example"),
        privacyPolicy: Option.some("https://laufportal.example/privacy"),
        guide: Option.none()
      })
      const refused: ReadonlyArray<readonly [name: string, value: string, problem: string]> = [
        ["PLATFORM_COLOR", "#ffcc00", "has a contrast of 1.51:1 with white text"],
        ["PLATFORM_COLOR", "red", "is not a colour such as #0b5cad"],
        ["PLATFORM_LOGO", join(folder, "none"), "cannot be read (ENOENT)"],
        ["PLATFORM_LOGO", folder, "cannot be read (EISDIR)"],
        ["PLATFORM_LOGO", file("text.svg", "a text about <svg>"), "is not an image"],
        ["PLATFORM_LOGO", file("large.png", Buffer.alloc(102_401)), "has 102401 bytes"],
        ["PLATFORM_SUPPORT", "javascript:alert(1)", "is not an https URL or mailto:"],
        ["PLATFORM_PRIVACY_POLICY", "http://laufportal.example/", "is not an https URL"]
      ]
      for (const [name, value, problem] of refused) {
        const { message } = yield* Effect.flip(decode({ [name]: value }))
        expect([message.startsWith(`${name}: `), message]).toEqual([true, expect.stringContaining(problem)])
      }
      for (
        const [bytes, type] of [["\x89PNG\r\n\x1a\n", "png"], ["\xff\xd8\xff", "jpeg"], ["RIFF\n\0\0\0WEBP", "webp"]]
      ) {
        const given = yield* decode({ PLATFORM_LOGO: file("image", Buffer.from(bytes ?? "", "latin1")) })
        expect(Option.map(given.platform.logo, (logo) => logo.type)).toEqual(Option.some(`image/${type}`))
      }
    }))
})

describe("PROCESSES", () => {
  const complete = { ...database, OPERATOR_TOKEN: token, MASTER_KEY: key }

  it.effect("is 1 by default; auto is one per core", () =>
    Effect.gen(function*() {
      expect((yield* decode(complete)).processes).toBe(1)
      expect((yield* decode({ ...complete, PROCESSES: "4" })).processes).toBe(4)
      expect((yield* decode({ ...complete, PROCESSES: "auto" })).processes).toBe(availableParallelism())
    }))

  it.effect("of more than 1 is refused with the embedded database, and without the role api", () =>
    Effect.gen(function*() {
      expect((yield* Effect.flip(decode({ PROCESSES: "2" }))).message).toMatch(/^PROCESSES: .*DATABASE_URL/)
      expect((yield* Effect.flip(decode({ ...complete, PROCESSES: "2", ROLES: "worker" }))).message).toMatch(
        /^PROCESSES: .*ROLES/
      )
      expect((yield* decode({ PROCESSES: "1" })).processes).toBe(1)
    }))
})

describe("the limits on signing in", () => {
  it.effect("are those of the pages by default", () =>
    Effect.gen(function*() {
      expect((yield* decode({})).loginLimits).toEqual(yield* SignInLimit.PasswordLimits)
      const { loginLimits } = yield* decode({
        SIGN_IN_FAILURES: "5",
        SIGN_IN_FAILURES_PER_ACCOUNT: "15",
        SIGN_IN_FAILURES_PER_NETWORK: "50"
      })
      const { perAccount, perAccountAndNetwork, perNetwork } = loginLimits
      expect([perAccountAndNetwork, perAccount, perNetwork].map(({ count }) => count)).toEqual([5, 15, 50])
    }))
})

describe("lifetimes, periods and the pool", () => {
  it.effect("have the documented defaults, and are set in short form or in words", () =>
    Effect.gen(function*() {
      const seconds = ({ databaseConnections, policy }: Configuration.Configuration) => [
        databaseConnections,
        ...[
          policy.accessTokenLifetime,
          policy.refreshTokenIdle,
          policy.codeLifetime,
          policy.secretOverlap,
          policy.callbackTimeout,
          policy.deliveryRetention
        ].map(Duration.toSeconds)
      ]
      expect(seconds(yield* decode({}))).toEqual([10, 28_800, 7_776_000, 300, 86_400, 2, 2_592_000])
      const given = yield* decode({
        DATABASE_CONNECTIONS: "25",
        ACCESS_TOKEN_LIFETIME: "4 hours",
        REFRESH_TOKEN_IDLE: "1 day",
        CODE_LIFETIME: "60 seconds",
        SECRET_OVERLAP: "0s",
        CALLBACK_TIMEOUT: "1500 milliseconds",
        DELIVERY_RETENTION: "7d"
      })
      expect(seconds(given)).toEqual([25, 14_400, 86_400, 60, 0, 1.5, 604_800])
    }))
})

describe("OpenTelemetry's variables", () => {
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" }
  const signal = (of: Option.Option<{ readonly url: string; readonly headers: Redacted.Redacted<unknown> }>) =>
    Option.getOrNull(Option.map(of, ({ headers, url }) => [url, Redacted.value(headers)]))

  it.effect("without an endpoint nothing is exported; one endpoint is the base for both signals", () =>
    Effect.gen(function*() {
      const { otlp } = yield* decode({ OTEL_EXPORTER_OTLP_HEADERS: "a=b" })
      expect([otlp.traces, otlp.metrics]).toEqual([Option.none(), Option.none()])
      const both =
        (yield* decode({ ...collector, OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20YTpi, b=c==" })).otlp
      const headers = { authorization: "Basic YTpi", b: "c==" }
      expect(signal(both.traces)).toEqual(["http://collector:4318/v1/traces", headers])
      expect(signal(both.metrics)).toEqual(["http://collector:4318/v1/metrics", headers])
      expect(both.attributes).toEqual({ "service.name": "startlist" })
      expect(both.sampler).toEqual({ followsCaller: true, ratio: 1 })
    }))

  it.effect("variables of one signal take precedence, and its endpoint is not changed", () =>
    Effect.gen(function*() {
      const { otlp } = yield* decode({
        ...collector,
        OTEL_EXPORTER_OTLP_HEADERS: "a=b",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces.test/in",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "c=d",
        OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf"
      })
      expect(signal(otlp.traces)).toEqual(["http://traces.test/in", { c: "d" }])
      expect(signal(otlp.metrics)).toEqual(["http://collector:4318/v1/metrics", { a: "b" }])
      const protocols = [otlp.traces, otlp.metrics].map(Option.map(({ protocol }) => protocol))
      expect(protocols).toEqual([Option.some("http/json"), Option.some("http/protobuf")])
    }))

  it.effect("signals can be switched off", () =>
    Effect.gen(function*() {
      const isOn = (environment: Readonly<Record<string, string>>) =>
        Effect.map(
          decode({ ...collector, ...environment }),
          ({ otlp }) => [otlp.traces, otlp.metrics].map(Option.isSome)
        )
      expect(yield* isOn({ OTEL_SDK_DISABLED: "true" })).toEqual([false, false])
      expect(yield* isOn({ OTEL_TRACES_EXPORTER: "none" })).toEqual([false, true])
      expect(yield* isOn({ OTEL_METRICS_EXPORTER: "none" })).toEqual([true, false])
    }))

  it.effect("OTEL_SERVICE_NAME takes precedence over the name in the resource attributes", () =>
    Effect.gen(function*() {
      const OTEL_RESOURCE_ATTRIBUTES = "service.name=a,team=b%2Cc"
      expect((yield* decode({ OTEL_RESOURCE_ATTRIBUTES })).otlp.attributes).toEqual({
        "service.name": "a",
        team: "b,c"
      })
      const { otlp } = yield* decode({ OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME: "d" })
      expect(otlp.attributes).toEqual({ "service.name": "d", team: "b,c" })
    }))

  it.effect("only traceidratio samplers use the ratio", () =>
    Effect.gen(function*() {
      const sampler = (OTEL_TRACES_SAMPLER: string) =>
        Effect.map(decode({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: "0.25" }), ({ otlp }) => [
          otlp.sampler.followsCaller,
          otlp.sampler.ratio
        ])
      expect(yield* sampler("always_on")).toEqual([false, 1])
      expect(yield* sampler("always_off")).toEqual([false, 0])
      expect(yield* sampler("traceidratio")).toEqual([false, 0.25])
      expect(yield* sampler("parentbased_always_on")).toEqual([true, 1])
      expect(yield* sampler("parentbased_traceidratio")).toEqual([true, 0.25])
    }))
})

it.effect("the default name of an installation is the host of AUTH_URL", () =>
  Effect.gen(function*() {
    const AUTH_URL = "https://auth.test:8443"
    expect((yield* decode({})).installation).toEqual(Option.none())
    expect((yield* decode({ AUTH_URL })).installation).toEqual(Option.some("auth.test:8443"))
    expect((yield* decode({ AUTH_URL, INSTALLATION: "blue" })).installation).toEqual(Option.some("blue"))
  }))

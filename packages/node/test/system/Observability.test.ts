/**
 * Metrics, request identifiers in the log and traces of a running service, and the dashboard and alerts that use them.
 */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { obtainTokens, postForm, refresh, subscribe } from "@startlist/test-support/Consent"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate
} from "@startlist/test-support/Operator"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"
import { type Environment, makeService, type Service } from "@startlist/test-support/ServiceProcess"

/** A page of Prometheus text: the type of each family, the labels that its series have, and the value of each series. */
const readMetrics = async (service: Service) => {
  const text = await (await fetch(`${service.url}/metrics`)).text()
  const families = new Map<string, Set<string>>()
  const values = new Map<string, number>()
  for (const line of text.split("\n")) {
    const [, declared] = /^# TYPE (\S+) /.exec(line) ?? []
    if (declared !== undefined) families.set(declared, new Set())
    const [, name = "", labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (value === undefined) continue
    values.set(labels === "" ? name : `${name}{${labels}}`, Number(value))
    const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ""))
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) family?.add(label)
  }
  return { text, families, valueOf: (series: string) => values.get(series) ?? 0 }
}

/** A loop with tokens of two users, a refresh, a refusal, and an event that fails once and is then delivered. */
const work = async (service: Service, receiver: Receiver) => {
  const platform = await createUser(service, "platform")
  const athlete = await createUser(service, "athlete")
  const client = await createApplication(service, platform)
  const { access_token } = await obtainTokens(service, client, platform)
  const { refresh_token } = await obtainTokens(service, client, athlete)
  const rotated = await refresh(service, client, refresh_token)
  expect([rotated.status, (await refresh(service, client, refresh_token)).status]).toEqual([200, 401])
  await postForm(`${service.url}/oauth/token`, {
    client_id: "1",
    client_secret: "wrong",
    grant_type: "refresh_token",
    refresh_token: "x"
  })
  const rejected = await fetch(`${service.url}/api/v1/athlete?access_token=query-word`, {
    headers: { authorization: "Bearer no" }
  })
  expect(rejected.status).toBe(401)
  expect((await subscribe(service, access_token, `${receiver.url}?tenant=callback-word`)).status).toBe(201)
  const registration = await createRegistration(service, { athlete_id: athlete.id })
  receiver.answerWith(500)
  await changeRegistration(service, registration, { registration_status: "validated" })
  await receiver.posts(1)
  receiver.answerWith(200)
  await receiver.posts(2)
  for (let state = ""; state !== "delivered";) {
    state = (await operate(service, "GET", "/deliveries")).body.deliveries[0].state
  }
  await operate(service, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
  await receiver.posts(3)
  const secrets = [access_token, refresh_token, client.client_secret, platform.password, service.operatorToken]
  return { registration, secrets: [...secrets, "query-word", "callback-word"] }
}

it.scopedLive(
  "metrics count requests, tokens, attempts and the queue; the dashboard and the alerts use no others",
  () =>
    Effect.gen(function*() {
      const receiver = yield* makeReceiver
      const service = yield* makeService({ DELIVERY_DELAYS: "1ms" })
      yield* Effect.promise(async () => {
        const declared = await readMetrics(service)
        const { registration } = await work(service, receiver)
        for (let latencies = 0; latencies < 2;) {
          latencies = (await readMetrics(service)).valueOf("startlist_delivery_latency_seconds_count")
        }
        const { families, text, valueOf } = await readMetrics(service)
        const values = Object.fromEntries([
          "startlist_http_requests_total{method=\"PATCH\",route=\"/operator/v1/registrations/{id}\",status=\"200\"}",
          "startlist_http_requests_total{method=\"POST\",route=\"/api/v1/webhook_subscription\",status=\"201\"}",
          "startlist_application_requests_total{application=\"1\",status=\"200\"}",
          "startlist_application_requests_total{application=\"1\",status=\"401\"}",
          "startlist_tokens_issued_total",
          "startlist_tokens_rotated_total",
          "startlist_tokens_refused_total{grant_type=\"refresh_token\",reason=\"replaced\"}",
          "startlist_tokens_refused_total{grant_type=\"refresh_token\",reason=\"invalid_client\"}",
          "startlist_access_tokens_rejected_total",
          "startlist_revocations_total{by=\"user\"}",
          "startlist_delivery_attempts_total{outcome=\"rejected\",attempt=\"1\"}",
          "startlist_delivery_attempts_total{outcome=\"delivered\",attempt=\"1\"}",
          "startlist_delivery_attempts_total{outcome=\"delivered\",attempt=\"2\"}",
          "startlist_deliveries_ended_total{state=\"delivered\",application=\"other\"}",
          "startlist_deliveries_ended_total{state=\"exhausted\",application=\"other\"}",
          "startlist_callback_validations_total{outcome=\"200\"}",
          "startlist_deliveries_pending",
          "startlist_deliveries_due",
          "startlist_delivery_oldest_due_seconds",
          "startlist_database_up"
        ].map((series) => [series, valueOf(series)]))
        expect(Object.values(values), JSON.stringify(values, null, 1)).toEqual([
          1,
          1,
          3,
          1,
          2,
          1,
          1,
          1,
          1,
          1,
          1,
          1,
          1,
          2,
          0,
          1,
          0,
          0,
          0,
          1
        ])
        expect(valueOf("startlist_http_request_duration_seconds_count{route=\"/oauth/token\"}")).toBe(5)
        expect(valueOf("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0)
        expect(text).not.toContain(`/${registration}`)
        for (const [name] of families) {
          if (name.startsWith("startlist_") && !name.includes("http")) {
            expect([...declared.families.keys()]).toContain(name)
          }
        }
        checkPage(families)
        for (const path of ["grafana-dashboard.json", "alerts.yaml"]) {
          const content = readFileSync(new URL(`../../../../docs/operations/${path}`, import.meta.url), "utf8")
          checkQueries(path, content, families)
        }
      })
    })
)

/** Expects that the guide names every metric that is served, and no other. */
const checkPage = (served: ReadonlyMap<string, ReadonlySet<string>>) => {
  const page = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8")
  const rows = (page.split("## Metrics")[1] ?? "").split("\n").filter((line) => line.startsWith("| `"))
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => `startlist_${name}`)
  )
  const all = new Set([...served.keys(), ...ofOthers.keys()])
  expect([...named].sort()).toEqual([...all].filter((name) => name.startsWith("startlist_")).sort())
}

/** Families of a connection pool, of a cluster, and of several processes, which the service of this test does not have. */
const ofOthers = new Map([
  ["startlist_processes_replaced_total", new Set(["process", "reason"])],
  ["startlist_process_answer_age_seconds", new Set(["process"])],
  ["startlist_citus_worker_up", new Set(["worker"])],
  ["startlist_database_connections", new Set(["state"])],
  ["startlist_database_waiting", new Set<string>()]
])

/** Metrics and labels that Prometheus itself adds. */
const added = new Set(["instance", "installation", "job", "le"])

/** Expects that every metric in a query exists, with the labels by which it is selected or grouped. */
const checkQueries = (path: string, content: string, served: ReadonlyMap<string, ReadonlySet<string>>) => {
  const known = new Map([...served, ...ofOthers])
  const queries = path.endsWith(".json")
    ? [...content.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, text = "\"\""]): string => JSON.parse(text))
    : [...content.matchAll(/expr: (?:>-)?([\s\S]*?)\n {8}(?:for|labels):/g)].map(([, text = ""]) => text.trim())
  expect(queries.length).toBeGreaterThan(8)
  for (const query of queries) {
    const names = [...query.matchAll(/\b(?:startlist|nodejs|process)_\w+/g)].map(([name]) =>
      served.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "")
    )
    if (names.length === 0) expect(query).toMatch(/^up\{/)
    for (const name of names) expect([...known.keys()], `${path}: ${query}`).toContain(name)
    const selected = [...query.matchAll(/(\w+)=~?"/g)].map(([, label = ""]) => label)
    const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/, */))
    for (const label of [...selected, ...grouped]) {
      const isThere = added.has(label) || names.some((name) => known.get(name)?.has(label) === true)
      expect([label, isThere, query]).toEqual([label, true, query])
    }
  }
}

const linesOf = (service: Service): ReadonlyArray<{
  readonly logLevel: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}> => service.stdout().trim().split("\n").map((line) => JSON.parse(line))

it.scopedLive(
  "each request has an identifier, the caller's or ours, in the response and in every log line",
  () =>
    Effect.gen(function*() {
      const service = yield* makeService({ LOG_LEVEL: "debug" })
      yield* Effect.promise(async () => {
        const nameOf = async (given?: string) => {
          const headers = given === undefined ? {} : { "x-request-id": given }
          const response = await fetch(`${service.url}/healthz`, { headers })
          return response.headers.get("x-request-id") ?? ""
        }
        expect(await nameOf("order-7/a:b")).toBe("order-7/a:b")
        const own = [await nameOf(), await nameOf(), await nameOf("with space"), await nameOf("x".repeat(129))]
        expect(new Set(own).size).toBe(4)
        for (const name of own) expect(name).toMatch(/^[\w-]{8,30}$/)
        await operate(service, "GET", "/applications/999999", undefined, { "x-request-id": "the-operator" })
        await fetch(`${service.url}/nothing`, { headers: { "x-request-id": "nothing-here" } })
        await service.stop()
        const messagesOf = (name: string) =>
          linesOf(service).filter(({ annotations }) => annotations["request_id"] === name).map(({ message }) => message)
        expect(messagesOf("order-7/a:b")).toEqual(["GET /healthz 200"])
        expect(messagesOf("the-operator")).toEqual(["GET /operator/v1/applications/999999 404"])
        expect(messagesOf("nothing-here")).toEqual(["GET /nothing 404"])
      })
    })
)

it.scopedLive(
  "LOG_REQUESTS logs each request at info with route, status, duration and client, without query, except probes",
  () =>
    Effect.gen(function*() {
      const proxied = { TRUSTED_PROXIES: "127.0.0.0/8", LOG_REQUESTS: "true" }
      const [service, quiet] = [yield* makeService(proxied), yield* makeService({ LOG_REQUESTS: "false" })]
      yield* Effect.promise(async () => {
        for (const { url } of [service, quiet]) {
          await fetch(`${url}/healthz`)
          await fetch(`${url}/operator/v1/applications/7?token=query-word`, {
            headers: { "x-request-id": "one", "x-forwarded-for": "203.0.113.9" }
          })
        }
        const client = await createApplication(service, await createUser(service, "platform"))
        for (const client_secret of ["wrong", client.client_secret]) {
          const fields = { client_id: String(client.client_id), client_secret, token: "x" }
          await postForm(`${service.url}/oauth/introspect`, fields)
        }
        await Promise.all([service.stop(), quiet.stop()])
        const requests = linesOf(service).filter(({ message }) => message.startsWith("GET "))
        expect(requests).toMatchObject([{
          logLevel: "INFO",
          message: "GET /operator/v1/applications/7 401",
          annotations: {
            method: "GET",
            route: "/operator/v1/applications/{client_id}",
            status: 401,
            duration_ms: expect.any(Number),
            client: "203.0.113.9",
            request_id: "one"
          }
        }])
        expect(requests[0]?.annotations["duration_ms"]).toBeGreaterThan(0)
        const introspections = linesOf(service).filter(({ message }) => message.startsWith("POST /oauth/introspect "))
        expect(introspections.map(({ annotations: { client_id, status } }) => [status, client_id]))
          .toEqual([[401, undefined], [200, client.client_id]])
        expect(service.stdout()).not.toContain("query-word")
        expect(quiet.stdout()).not.toContain("GET ")
      })
    })
)

it.scopedLive("INSTALLATION is a label of every metric", () =>
  Effect.gen(function*() {
    const service = yield* makeService({ INSTALLATION: "blue" })
    yield* Effect.promise(async () => {
      const lines = (await readMetrics(service)).text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
      expect(lines.filter((line) => !line.includes("installation=\"blue\""))).toEqual([])
      expect(lines.join()).toContain("startlist_build_info{installation=\"blue\",version=\"0.1.0\"} 1")
    })
  }))

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>
}

/** A collector that accepts OTLP over HTTP, in JSON. */
const makeCollector = Effect.acquireRelease(
  Effect.promise(async () => {
    const bodies: Array<{ readonly path: string; readonly text: string; readonly headers: IncomingHttpHeaders }> = []
    const server = createServer((request, response) => {
      let text = ""
      request.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("end", () => {
        bodies.push({ path: request.url ?? "", text, headers: request.headers })
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const of = (path: string) => bodies.filter((body) => body.path === path).map(({ text }) => text)
    const spans = (): ReadonlyArray<Span> =>
      of("/v1/traces").flatMap((text) =>
        JSON.parse(text).resourceSpans.flatMap((
          { scopeSpans }: { scopeSpans: ReadonlyArray<{ spans: ReadonlyArray<Span> }> }
        ) => scopeSpans.flatMap(({ spans }) => spans))
      )
    return { url: `http://127.0.0.1:${port}`, bodies, of, spans, server }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

const traceparents = ({ received }: Receiver) =>
  received.filter(({ method }) => method === "POST").map(({ headers }) => headers["traceparent"])

for (const told of [false, true]) {
  it.scopedLive(
    `traces: a delivery continues the trace of its change, and ours that of the caller, without secrets; ${
      told ? "callbacks get the trace if that is configured" : "callbacks do not get it"
    }`,
    () =>
      Effect.gen(function*() {
        const collector = yield* makeCollector
        const receiver = yield* makeReceiver
        const environment: Environment = { DELIVERY_DELAYS: "1ms", OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
        const service = yield* makeService(told ? { ...environment, CALLBACK_TRACEPARENT: "true" } : environment)
        yield* Effect.promise(async () => {
          const { registration, secrets } = await work(service, receiver)
          const traceId = "0af7651916cd43dd8448eb211c80319c"
          const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` }
          for (const path of ["/nothing", "/healthz", "/readyz", "/metrics"]) {
            await fetch(service.url + path, { headers })
          }
          expect(await service.stop()).toEqual({ code: 0, signal: null })
          const spans = collector.spans()
          const called = spans.filter(({ traceId: of }) => of === traceId)
          expect(called).toMatchObject([{ name: "GET other", parentSpanId: "b7ad6b7169203331" }])
          const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined).map(({ name }) => name)
          expect(roots.filter((name) => !/^(?:GET|POST|PATCH) /.test(name))).toEqual([])

          const change = spans.find(({ attributes, name }) =>
            name.startsWith("PATCH") && JSON.stringify(attributes).includes(`/registrations/${registration}`)
          )
          const revocation = spans.find(({ name }) => name.endsWith("/revocations"))
          const deliveries = spans.filter(({ name }) => name === "POST callback")
          expect(deliveries.map((span) => span.traceId)).toEqual([
            change?.traceId,
            change?.traceId,
            revocation?.traceId
          ])
          const inTrace = new Set(spans.filter((span) => span.traceId === change?.traceId).map(({ spanId }) => spanId))
          for (const { parentSpanId = "" } of deliveries.slice(0, 2)) expect(inTrace).toContain(parentSpanId)
          expect(traceparents(receiver)).toEqual(
            told ? deliveries.map((span) => `00-${span.traceId}-${span.spanId}-01`) : [undefined, undefined, undefined]
          )

          const everything = [...collector.of("/v1/traces"), ...collector.of("/v1/metrics")].join()
          for (const secret of secrets) expect(everything).not.toContain(secret)
          for (const { attributes } of spans) {
            for (const { key, value } of attributes) {
              if (key.startsWith("url.") || key.startsWith("http.")) expect(JSON.stringify(value)).not.toContain("?")
            }
          }
          const metrics = collector.of("/v1/metrics").join()
          for (const name of ["http_requests_total", "delivery_attempts_total", "deliveries_pending"]) {
            expect(metrics).toContain(`startlist_${name}`)
          }
        })
      })
  )
}

/** Resource attributes in these bodies, without the random identifier of the process. */
const resourceOf = (text: string, of: "resourceSpans" | "resourceMetrics"): Readonly<Record<string, string>> =>
  Object.fromEntries(
    JSON.parse(text)[of][0].resource.attributes.map((
      { key, value }: { readonly key: string; readonly value: { readonly stringValue: string } }
    ) => [key, value.stringValue])
  )

it.scopedLive(
  "OTLP has headers, resource attributes, name, instance and version; sampling follows the caller or the sampler",
  () =>
    Effect.gen(function*() {
      const collector = yield* makeCollector
      const service = yield* makeService({
        INSTALLATION: "blue",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/traces`,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b",
        OTEL_RESOURCE_ATTRIBUTES: "team=c,service.version=other",
        OTEL_SERVICE_NAME: "sports",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0"
      })
      yield* Effect.promise(async () => {
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        for (const flags of ["01", "00"]) {
          await fetch(`${service.url}/flags-${flags}`, {
            headers: { traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` }
          })
        }
        await fetch(`${service.url}/nobody-called`)
        await service.stop()
        const sent = collector.of("/traces")
        expect(sent.join().match(/flags-\d\d|nobody-called/g)).toEqual(["flags-01"])
        const [traces, metrics] = [
          resourceOf(sent[0] ?? "", "resourceSpans"),
          resourceOf(collector.of("/v1/metrics")[0] ?? "", "resourceMetrics")
        ]
        expect(traces).toEqual({
          "service.instance.id": expect.stringMatching(/^[\da-f-]{36}$/),
          "service.name": "sports",
          "service.namespace": "blue",
          "service.version": "other",
          team: "c"
        })
        expect(metrics).toEqual(traces)
        for (const { headers } of collector.bodies) expect(headers["api-key"]).toBe("a b")
      })
    })
)

/** A day of an operator, who uses the command line, the endpoints for monitors and load balancers, and signals. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import {
  athleteStatus,
  authorizeUrl,
  consent,
  exchange,
  obtainTokens,
  redirectUri,
  refresh,
  subscribe
} from "@startlist/test-support/Consent"
import { balance } from "@startlist/test-support/Balancer"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeDatabase } from "@startlist/test-support/Nodes"
import { changeRegistration, type Client, createUser, type Person } from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import { type Environment, runStartlist, type Service, startService } from "@startlist/test-support/ServiceProcess"

/** Nodes that can be stopped and started again at the same address. They stop with the scope. */
const makeNodes = (environment: Environment & { readonly DATA_DIR: string }) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const running = new Map<string, Service>()
      const start = async (port = "0"): Promise<Service> => {
        const service = await startService({ ...environment, PORT: port })
        running.set(service.url, service)
        return service
      }
      const restart = async (service: Service): Promise<Service> => {
        expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null })
        return await start(new URL(service.url).port)
      }
      return { running, start, restart }
    }),
    ({ running }) => Effect.promise(() => Promise.all([...running.values()].map((service) => service.stop("SIGKILL"))))
  )

/** Sends requests continuously to the node that the load balancer chooses. All must succeed. */
const load = (
  next: () => Promise<string>,
  service: Service,
  { chains, client, registration }: {
    readonly client: Client
    /** The refresh tokens of different users. */
    readonly chains: ReadonlyArray<string>
    readonly registration: number
  }
) => {
  const failures: Array<string> = []
  const served = new Map<string, number>()
  let isOver = false
  let changes = 0

  const expecting = async (what: string, url: string, request: Promise<number>): Promise<void> => {
    const status = await request.catch((error) => String(error.cause ?? error))
    if (status === 200) served.set(url, (served.get(url) ?? 0) + 1)
    else failures.push(`${what} at ${url}: ${status}`)
  }
  const chain = async (token: string): Promise<void> => {
    let current = token
    while (!isOver && failures.length === 0) {
      const url = await next()
      let access = ""
      await expecting(
        "a refresh",
        url,
        (async () => {
          const response = await refresh({ url }, client, current)
          const body = await response.json()
          current = body.refresh_token
          access = body.access_token
          return response.status
        })()
      )
      const other = await next()
      await expecting("a resource", other, athleteStatus({ url: other }, access))
    }
  }
  const change = async (): Promise<void> => {
    while (!isOver && failures.length === 0) {
      const url = await next()
      const registration_status = `status ${++changes}`
      await expecting("a change", url, changeRegistration({ ...service, url }, registration, { registration_status }))
    }
  }
  const all = Promise.all([...chains.map(chain), change()])

  return {
    failures,
    changes: () => changes,
    /** Waits until this node has answered this number of further requests. */
    progress: async (url: string, count: number): Promise<void> => {
      const goal = (served.get(url) ?? 0) + count
      await eventually(async () => (served.get(url) ?? 0) >= goal || failures.length > 0, (isOver) => isOver)
    },
    stop: async (): Promise<void> => {
      isOver = true
      await all
    }
  }
}

it.scopedLive(
  "an operator migrates, starts, registers, rotates, redelivers, reads metrics and audit, and replaces two nodes",
  () =>
    Effect.gen(function*() {
      const database = yield* makeDatabase
      const receiver = yield* makeReceiver
      const environment = {
        ...installation(Redacted.value(database.url)),
        DELIVERY_DELAYS: "10ms,10ms",
        DRAIN_DELAY: "3s"
      }
      const nodes = yield* makeNodes(environment)

      yield* Effect.promise(async () => {
        const migrated = await runStartlist(["migrate"], environment)
        expect(migrated).toMatchObject({ code: 0, stderr: "" })
        expect(migrated.stdout).toMatch(/^applying startlist_migrations: 0001_initial$/m)
        expect(migrated.stdout).toMatch(/: the tables are up to date\n$/)

        const one = await nodes.start()
        const other = await nodes.start()
        const startlist = async (...args: ReadonlyArray<string>) => {
          const { code, stderr, stdout } = await runStartlist([...args, "--json"], {
            ...environment,
            PORT: new URL(one.url).port
          })
          expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
          return JSON.parse(stdout)
        }
        const person = async (role: string, email: string): Promise<Person> => {
          const password = "pass word"
          const names = ["--first-name", "Ada", "--last-name", "Lovelace"]
          return {
            ...await startlist("user", "create", "--role", role, "--email", email, "--password", password, ...names),
            password
          }
        }

        const platform = await person("platform", "platform@example.test")
        const athlete = await person("athlete", "athlete@example.test")
        const owner = ["--owner-email", platform.email]
        const client: Client = await startlist(
          "application",
          "create",
          "--name",
          "Race Day",
          ...owner,
          "--redirect-uri",
          redirectUri
        )
        const rotated = { ...client, ...await startlist("application", "rotate-secret", String(client.client_id)) }
        expect(rotated.client_secret).not.toBe(client.client_secret)
        for (const credentials of [client, rotated]) {
          const code = (await consent(authorizeUrl(one, client), athlete)).searchParams.get("code") ?? ""
          expect((await exchange(other, credentials, code)).status).toBe(200)
        }

        const { access_token } = await obtainTokens(other, rotated, platform)
        expect((await subscribe(one, access_token, receiver.url)).status).toBe(201)
        receiver.answerWith(500)
        const registration = (await startlist("registration", "create", "--athlete", String(athlete.id))).id
        await startlist("registration", "change", String(registration), "--status", "validated")
        await receiver.posts(3)
        const listed = (): Promise<
          { readonly deliveries: ReadonlyArray<{ readonly attempts: ReadonlyArray<object> }> }
        > => startlist("delivery", "list", "--state", "exhausted")
        const failed = await eventually(listed, ({ deliveries }) => deliveries.length > 0)
        expect(failed.deliveries[0]?.attempts).toEqual(
          Array.from({ length: 3 }, () => expect.objectContaining({ outcome: "rejected", status: 500 }))
        )
        receiver.answerWith(200)
        expect((await startlist("delivery", "redeliver", "--state", "exhausted")).redelivered).toBe(1)
        const [first, , , again] = await receiver.posts(4)
        expect([again?.body, again?.headers["webhook-id"]]).toEqual([first?.body, first?.headers["webhook-id"]])

        const numbers = async (service: Service) =>
          await (await fetch(`${service.url}/metrics`, {
            headers: { authorization: `Bearer ${service.operatorToken}` }
          })).text()
        const both = (await numbers(one)) + (await numbers(other))
        expect(both).toMatch(/^startlist_deliveries_ended_total\{.*state="exhausted".*\} 1$/m)
        expect(both).toMatch(/^startlist_database_connections\{.*state="idle".*\} \d+$/m)
        const { entries } = await startlist("audit", "list", "--all")
        const details = entries.map(({ detail }: { readonly detail?: string }) => detail)
        expect(details).toEqual(expect.arrayContaining([
          "POST /operator/v1/users 201",
          `POST /operator/v1/applications/${client.client_id}/secrets 201`,
          `PATCH /operator/v1/registrations/${registration} 200`
        ]))
        expect(JSON.stringify(entries)).not.toContain(rotated.client_secret)

        const chains: Array<string> = []
        for (let i = 0; i < 4; i++) {
          const user = i === 0 ? athlete : await createUser(one, "athlete")
          chains.push((await obtainTokens(one, rotated, user)).refresh_token)
        }
        const before = receiver.received.length
        const balancer = balance([one.url, other.url])
        const running = load(balancer.next, one, { chains, client: rotated, registration })
        await running.progress(one.url, 20)
        await running.progress(other.url, 20)
        await nodes.restart(one)
        await running.progress(one.url, 20)
        await nodes.restart(other)
        await running.progress(other.url, 20)
        await running.stop()
        await balancer.stop()
        expect(running.failures).toEqual([])

        const statuses = () =>
          receiver.received.slice(before).flatMap(({ body, method }): ReadonlyArray<string> =>
            method === "POST" ? [JSON.parse(body).updates.registration_status] : []
          )
        await receiver.until(() => statuses().length >= running.changes())
        expect(statuses()).toEqual(Array.from({ length: running.changes() }, (_, i) => `status ${i + 1}`))

        const { findings } = await startlist("doctor")
        expect(findings.filter(({ level }: { readonly level: string }) => level !== "good")).toEqual([])
        for (const service of nodes.running.values()) {
          expect(await service.stop("SIGTERM")).toEqual({ code: 0, signal: null })
        }
      })
    })
)

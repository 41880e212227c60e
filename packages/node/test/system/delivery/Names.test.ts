/** Callback names whose DNS records change between validation and delivery, with the service as a process. */
import { expect, it } from "@effect/vitest"
import { obtainTokens, subscribe } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { makeNameServer, type Zone } from "@startlist/test-support/NameServer"
import {
  changeRegistration,
  createApplication,
  createRegistration,
  createUser,
  operate
} from "@startlist/test-support/Operator"
import { startService, testProgram } from "@startlist/test-support/ServiceProcess"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"
import { Effect } from "effect"
import { createServer } from "node:http"

const program = testProgram(new URL("./support/ownNames.ts", import.meta.url))

/** A receiver that closes each connection, so that each request needs a DNS lookup. */
const receiver = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly posted: Set<string>; readonly close: () => void }>((resume) => {
    const posted = new Set<string>()
    const server = createServer((request, response) => {
      const { headers, method, url = "" } = request
      request.resume()
      if (method === "POST") posted.add(headers.host ?? "")
      const challenge = new URL(url, "http://receiver.invalid").searchParams.get("hub.challenge")
      response.writeHead(200, { "content-type": "application/json", connection: "close" })
      response.end(JSON.stringify({ "hub.challenge": challenge }))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ port, posted, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const good = ["127.0.0.1"]

/** DNS records of a name after the validation, and the outcome of every later attempt. */
const cases: Readonly<Record<string, readonly [answer: ReturnType<Zone>, outcome: string]>> = {
  "same.example": [good, "delivered"],
  "both.example": [["127.0.0.1", "::1"], "delivered"],
  "aliased.example": [["cname:same.example", "127.0.0.1"], "delivered"],
  "empty.example": [[], "unreachable"],
  "alias.example": [["cname:empty.example"], "unreachable"],
  "loop.example": [["cname:pool.example", "cname:loop.example"], "unreachable"],
  "gone.example": [{ rcode: 3 }, "unreachable"],
  "rebound.example": [["10.0.0.1"], "forbidden_address"],
  "mixed.example": [["127.0.0.1", "169.254.169.254"], "forbidden_address"],
  "silent.example": [undefined, "unreachable"]
}

/** Whether the resolver or the attempt times out first depends on how busy the machine is. */
const outcomeOf = ({ outcome }: { readonly outcome: string }) => outcome === "timeout" ? "unreachable" : outcome

it.scopedLive(
  "each delivery has its outcome for any answer of the name server, and the process continues",
  () =>
    Effect.gen(function*() {
      const names = new Map<string, ReturnType<Zone>>(Object.keys(cases).map((name) => [name, good]))
      const nameServer = yield* makeNameServer((name) => names.get(name) ?? [])
      const { port, posted } = yield* receiver
      const folder = yield* temporaryFolder
      const environment = {
        DATA_DIR: folder,
        NAME_SERVER: nameServer,
        CALLBACK_ALLOW: "127.0.0.0/8,::1/128",
        DELIVERY_DELAYS: "100ms,100ms"
      }
      const service = yield* Effect.acquireRelease(
        Effect.promise(() => startService(environment, program)),
        ({ stop }) => Effect.promise(() => stop("SIGKILL"))
      )
      yield* Effect.promise(async () => {
        const athlete = await createUser(service, "athlete")
        const application = async (host: string) => {
          // Validations are limited per owner.
          const platform = await createUser(service, "platform")
          const client = await createApplication(service, platform)
          const { access_token } = await obtainTokens(service, client, platform)
          await obtainTokens(service, client, athlete)
          const subscribed = await subscribe(service, access_token, `http://${host}:${port}/`)
          return { clientId: client.client_id, status: subscribed.status, body: await subscribed.text() }
        }

        const refused = await application("never.example")
        expect(refused.status).toBe(422)
        // On a busy machine the lookup may take longer than the 2 s of a validation.
        expect(["unreachable", "timeout"]).toContain(JSON.parse(refused.body).errors[0].code)

        const clients = new Map<number, string>()
        for (const name of Object.keys(cases)) {
          const { body, clientId, status } = await application(name)
          expect(status, `${name}: ${body}`).toBe(201)
          clients.set(clientId, name)
        }
        for (const [name, [answer]] of Object.entries(cases)) names.set(name, answer)
        const registration = await createRegistration(service, { athlete_id: athlete.id })
        expect(await changeRegistration(service, registration, { registration_status: "changed" })).toBe(200)

        const outcomes = async () => {
          const { body } = await operate(service, "GET", "/deliveries?limit=100")
          return body.deliveries.map((one: {
            readonly client_id: number
            readonly state: string
            readonly attempts: ReadonlyArray<{ readonly outcome: string }>
          }) => [clients.get(one.client_id), one.state, one.attempts.map(outcomeOf)])
        }
        const isPending = ([, state]: ReadonlyArray<unknown>) => state === "pending"
        const seen = await eventually(outcomes, (all) => all.length === clients.size && !all.some(isPending))

        const expected = Object.entries(cases).map(([name, [, outcome]]) =>
          outcome === "delivered" ? [name, outcome, [outcome]] : [name, "exhausted", [outcome, outcome, outcome]]
        )
        const byName = ([a]: ReadonlyArray<unknown>, [b]: ReadonlyArray<unknown>) => String(a) < String(b) ? -1 : 1
        expect(seen.sort(byName)).toEqual(expected.sort(byName))
        expect([...posted].sort()).toEqual(
          ["aliased.example", "both.example", "same.example"].map((name) => `${name}:${port}`)
        )
        expect(service.child.exitCode).toBeNull()
        expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
      })
    })
)

/** The nine support cases of the guide: each command is run as printed, on an installation that has the problem. */
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as CleanCopy from "@startlist/test-support/CleanCopy"
import { obtainTokens, refresh, subscribe } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import { installation, makeDatabase, makeNode } from "@startlist/test-support/Nodes"
import { changeRegistration, createApplication, createRegistration, operate } from "@startlist/test-support/Operator"
import { makeReceiver, type Receiver } from "@startlist/test-support/Receiver"
import { type Service, startlist } from "@startlist/test-support/ServiceProcess"
import * as Guide from "./support/Guide.ts"
import * as Shell from "./support/Shell.ts"

const page = readFileSync(join(CleanCopy.repository, "docs/troubleshooting.md"), "utf8")

/** The sections with commands, by heading. */
const cases = new Map(
  page.split(/^## /m).slice(1).flatMap((section) => {
    const steps = Guide.parse(section)
    return steps.length === 0 ? [] : [[section.split("\n")[0] ?? "", steps] as const]
  })
)

const commandsOf = (steps: ReadonlyArray<Guide.Step>) => steps.flatMap(({ text }) => text.trim().split("\n"))

it("nine cases have at most four commands each", () => {
  expect([...cases].map(([name, steps]) => [name, commandsOf(steps).length])).toMatchObject(
    Array.from({ length: 9 }, () => [expect.any(String), expect.any(Number)])
  )
  expect(Math.max(...[...cases.values()].map((steps) => commandsOf(steps).length))).toBeLessThanOrEqual(4)
  expect([...cases.values()].flat().every(({ kind }) => kind === "run")).toBe(true)
})

it("the page has at most 1,800 words", () => {
  expect(page.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(1800)
})

/** A user with a name by which the guide finds her, as in the commands. */
const person = async (service: Service, role: string, email: string) => {
  const password = "battery staple"
  const { body } = await operate(service, "POST", "/users", { role, email, password, first_name: "Ada" })
  return { ...body, password }
}

/** An installation that has all problems, and the numbers in the commands. */
const prepare = async (service: Service, receiver: Receiver) => {
  const platform = await person(service, "platform", "dev@example.org")
  const athlete = await person(service, "athlete", "ada@example.org")
  const client = await createApplication(service, platform)
  const { access_token } = await obtainTokens(service, client, platform)
  await subscribe(service, access_token, receiver.url)

  const { refresh_token } = await obtainTokens(service, client, athlete)
  await refresh(service, client, refresh_token)
  expect((await refresh(service, client, refresh_token)).status).toBe(401)

  receiver.answerWith(500)
  const registration = await createRegistration(service, { athlete_id: athlete.id })
  await changeRegistration(service, registration, { registration_status: "validated" })
  const failed = async () => (await operate(service, "GET", "/deliveries?state=exhausted")).body.deliveries
  const [delivery] = await eventually(failed, ({ length }) => length > 0)
  receiver.answerWith(200)
  await operate(service, "POST", `/applications/${client.client_id}/subscription/pause`)

  await operate(service, "POST", `/users/${athlete.id}/revocations`, { client_id: client.client_id })
  await obtainTokens(service, client, athlete)
  const wrong = new URLSearchParams({ email: athlete.email, password: "wrong" })
  const login = await fetch(`${service.url}/login`)
  const [, csrf = ""] = /name="csrf" value="([^"]+)"/.exec(await login.text()) ?? []
  wrong.set("csrf", csrf)
  const cookie = login.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ")
  await fetch(`${service.url}/login`, { method: "POST", body: wrong, headers: { cookie, origin: service.url } })
  await operate(service, "POST", `/users/${athlete.id}/disable`)
  return {
    CLIENT_ID: String(client.client_id),
    DELIVERY_ID: String(delivery.id),
    REGISTRATION_ID: String(registration),
    USER_ID: String(athlete.id)
  }
}

/** Texts in the output of a case's commands, in order, that answer its question. */
const answers: Readonly<Record<string, ReadonlyArray<RegExp>>> = {
  "An application has lost access": [
    /^1 +Race Day/m,
    /revocation .*by an operator/,
    /replay_refused .*replaced/,
    /consent/
  ],
  "Find why an event did not arrive": [
    /exhausted/,
    /^attempts:/m,
    /rejected +500/,
    /callback +true +true/,
    /^state +active/m
  ],
  "A callback was paused or failed": [/^paused_by_operator +false/m, /^none/m, /^redelivered +1/m],
  "One application is noisy": [
    /^startlist_application_requests_total\{.*application="1",status="200"\} [1-9]/m,
    /^requests_per_minute +600/m,
    /^requests_per_minute +-/m
  ],
  "The disk is nearly full": [/deliveries \d.*oldest past delivery: \d{4}/, /^none/m],
  "The service is not ready": [/"status":"ready"/, /^ok +writes/m],
  "A user cannot sign in": [/true/, /login_failed/, /^disabled +false/m, /^url +http\S+\/reset-password/m],
  "A person asks for data or erasure": [/ada@example\.org/, /^done/m, /^done/m],
  "A secret has leaked": [/^client_secret +sl_cs_/m, /^done/m, /whsec_/, /signing-secrets 201/]
}

it.scopedLive("the commands of each case answer its question", () =>
  Effect.gen(function*() {
    const { url } = yield* makeDatabase
    const receiver = yield* makeReceiver
    const environment = { ...installation(Redacted.value(url)), DELIVERY_DELAYS: "1ms" }
    const service = yield* makeNode(environment)
    const numbers = yield* Effect.promise(() => prepare(service, receiver))
    const [program = ""] = startlist()
    for (const [name, steps] of cases) {
      const folder = yield* CleanCopy.emptyFolder("case")
      const beside = yield* CleanCopy.emptyFolder("beside")
      const port = new URL(service.url).port
      const surroundings = { folder, beside, program, environment: { ...environment, ...numbers, PORT: port } }
      const said = yield* Effect.promise(() => Shell.run([{ path: "docs/troubleshooting.md", steps }], surroundings))
      let rest = said
      for (const answer of answers[name] ?? [/^no answer is known$/]) {
        const [found] = answer.exec(rest) ?? expect.fail(`${name}: no ${answer} in ${said}`)
        rest = rest.slice(rest.indexOf(found) + found.length)
      }
    }
  }))

/** The service on a Citus cluster, at `CITUS_URL`: from an installation with data on the coordinator to the erasure of a person. */
import { expect, it } from "@effect/vitest"
import * as Configuration from "@startlist/node/settings/Configuration"
import { inspect } from "@startlist/node/doctor/Doctor"
import * as ServiceTables from "@startlist/node/data/ServiceTables"
import { Postgres } from "@startlist/postgres"
import * as CitusDatabase from "@startlist/test-support/CitusDatabase"
import { athleteStatus, obtainTokens, redirectUri, refresh, subscribe } from "@startlist/test-support/Consent"
import { eventually } from "@startlist/test-support/Eventually"
import * as InProcessService from "@startlist/test-support/InProcessService"
import * as Operator from "@startlist/test-support/Operator"
import { makeReceiver } from "@startlist/test-support/Receiver"
import * as TestDatabase from "@startlist/test-support/TestDatabase"
import { Effect, Option, Redacted } from "effect"
import { describe } from "vitest"

const findings = (url: string) =>
  Effect.gen(function*() {
    const environment = {
      DATABASE_URL: url,
      OPERATOR_TOKEN: "an-operator-token-for-tests-of-256-bits",
      MASTER_KEY: Buffer.alloc(32, 9).toString("base64")
    }
    const configuration = yield* Effect.orDie(Configuration.decode(environment, false))
    const found = yield* inspect(configuration, Option.none())
    return found.filter(({ what }) => what === "cluster").map(({ level, seen }) => `${level}: ${seen}`)
  })

const name = "an installation moves to the cluster with its data, and everything works as before"

const test = Effect.gen(function*() {
  const { close, open, url } = yield* TestDatabase.TestDatabase
  const address = Redacted.value(url)
  const receiver = yield* makeReceiver
  const migrations = [ServiceTables.migrations()]
  yield* Postgres.migrate({ url, migrations })
  expect(yield* findings(address)).toEqual([expect.stringMatching(/^warning: all tables are on the coordinator/)])

  const service = InProcessService.make({ DATABASE_URL: address })
  const serving = <A>(use: (service: InProcessService.Service) => Promise<A>) =>
    Effect.scoped(Effect.flatMap(service, (service) => Effect.promise(() => use(service))))
  const made = yield* serving(async (service) => {
    const platform = await Operator.createUser(service, "platform")
    const athlete = await Operator.createUser(service, "athlete")
    const client = await Operator.createApplication(service, platform, [redirectUri])
    const { access_token } = await obtainTokens(service, client, platform)
    expect((await subscribe(service, access_token, receiver.url)).status).toBe(201)
    const tokens = await obtainTokens(service, client, athlete)
    const registration = await Operator.createRegistration(service, { athlete_id: athlete.id, comment: "first" })
    await Operator.changeRegistration(service, registration, { comment: "on the coordinator" })
    await receiver.posts(1)
    return { athlete, client, registration, tokens }
  })
  yield* Postgres.migrate({ url, migrations, distributed: true })
  expect(yield* findings(address)).toEqual([
    expect.stringMatching(/^good: the tables are distributed over \d+ workers/)
  ])

  yield* serving(async (service) => {
    const { athlete, client, registration, tokens } = made
    expect(await athleteStatus(service, tokens.access_token)).toBe(200)
    const answer = await refresh(service, client, tokens.refresh_token)
    expect(answer.status).toBe(200)
    expect((await refresh(service, client, tokens.refresh_token)).status).toBe(401)
    const comments = ["a", "b", "c"]
    for (const comment of comments) await Operator.changeRegistration(service, registration, { comment })
    await receiver.posts(4)
    const told = receiver.received.filter(({ body }) => body.includes("\"aspect_type\":\"updated\""))
    expect(told.map(({ body }) => JSON.parse(body).updates.comment)).toEqual(["on the coordinator", ...comments])
    expect((await Operator.operate(service, "DELETE", `/users/${athlete.id}`)).status).toBe(204)
    await receiver.until(() => receiver.received.some(({ body }) => body.includes("\"aspect_type\":\"deleted\"")))
    const { body } = await Operator.operate(service, "GET", "/deliveries?limit=100")
    expect(JSON.stringify(body)).not.toContain("on the coordinator")
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  })

  yield* Effect.scoped(Effect.gen(function*() {
    const { url } = yield* service
    const workersUp = async () =>
      [...(await (await fetch(`${url}/metrics`)).text()).matchAll(/^startlist_citus_worker_up\{.*\} (.*)$/gm)]
        .map(([, value]) => value).join(" ")
    const shows = (expected: RegExp) => Effect.promise(() => eventually(workersUp, (seen) => expected.test(seen)))
    yield* shows(/^1( 1)+$/)
    yield* close
    yield* shows(/^0( 1)+$/)
    expect(yield* findings(address)).toEqual([
      expect.stringMatching(/^bad: these workers do not answer: [^ ,]+:\d+$/)
    ])
    yield* open
    yield* shows(/^1( 1)+$/)
  }))
}).pipe(Effect.scoped, Effect.provide(CitusDatabase.layer))

describe("the service on Citus", () => {
  if (CitusDatabase.url === undefined) it.skip(`${name}: needs CITUS_URL`, () => {})
  else it.live(name, () => test)
})

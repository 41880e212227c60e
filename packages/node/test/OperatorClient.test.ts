/** The typed client of the operator API, against the running service, and the client of the command line. */
import { FetchHttpClient } from "@effect/platform"
import { expect, it, layer } from "@effect/vitest"
import { Application, Delivery, User } from "@startlist/core"
import { OperatorClient } from "@startlist/node"
import { Effect, Fiber, Option, Queue, Redacted, Runtime, TestClock } from "effect"
import { createServer, type ServerResponse } from "node:http"
import * as InProcessService from "@startlist/test-support/InProcessService"
import { connect } from "../src/commands/Connection.ts"
import { deliveries } from "../src/operator/deliveries.ts"
import { installation } from "../src/operator/installation.ts"

const clientWith = (token: (operatorToken: string) => string) =>
  Effect.flatMap(
    InProcessService.InProcessService,
    ({ operatorToken, url }) => OperatorClient.make({ url, token: Redacted.make(token(operatorToken)) })
  ).pipe(Effect.provide(FetchHttpClient.layer))

const athlete = {
  role: "athlete",
  email: "ada@example.test",
  password: Redacted.make("correct horse"),
  first_name: "Ada"
} as const

layer(InProcessService.layer())("the typed client", (it) => {
  it.effect("returns the decoded response of the service", () =>
    Effect.gen(function*() {
      const client = yield* clientWith((token) => token)
      const user = yield* client.users.createUser(athlete)
      expect(user).toMatchObject({ role: "athlete", email: "ada@example.test" })
      expect(yield* client.users.getUser({ id: User.UserId.make(user.id) })).toEqual(user)
      const { applications } = yield* client.applications.listApplications({ limit: 10 })
      expect(applications).toEqual([])
    }))

  it.effect("fails with typed refusals", () =>
    Effect.gen(function*() {
      const client = yield* clientWith((token) => token)
      const unknown = yield* Effect.flip(client.deliveries.redeliver({ id: Delivery.DeliveryId.make(4711) }))
      expect(unknown).toMatchObject({ _tag: "NotFound", errors: [{ resource: "Delivery" }] })
      const stranger = yield* clientWith((token) => `${token}x`)
      const refused = yield* Effect.flip(stranger.audit.listAudit({ limit: 10 }))
      expect(refused).toMatchObject({ _tag: "Unauthorized" })
    }))
})

it.scoped("the command line waits for a backup as long as it takes, and 30 seconds for any other response", () =>
  Effect.gen(function*() {
    const asked = yield* Queue.unbounded<ServerResponse>()
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const server = createServer((_request, response) => void runFork(Queue.offer(asked, response)))
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close().closeAllConnections())
    )
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    const call = yield* connect({
      url: Option.some(`http://127.0.0.1:${port}`),
      token: Option.some(Redacted.make("token"))
    })
    const { cancelDeliveries } = deliveries.members
    const other = yield* Effect.fork(call(cancelDeliveries, { client_id: Application.ApplicationId.make(1) }))
    yield* Queue.take(asked)
    yield* TestClock.adjust("30 seconds")
    expect((yield* Effect.flip(Fiber.join(other))).message).toContain("did not answer within 30 seconds")

    const backup = yield* Effect.fork(call(installation.members.backUp, {}))
    const response = yield* Queue.take(asked)
    yield* TestClock.adjust("10 hours")
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ folder: "/backups/one" }))
    expect(yield* Fiber.join(backup)).toEqual({ folder: "/backups/one" })

    const failed = yield* Effect.fork(call(installation.members.backUp, {}))
    ;(yield* Queue.take(asked)).destroy()
    expect((yield* Effect.flip(Fiber.join(failed))).message).toContain("(ECONNRESET)")
  }))

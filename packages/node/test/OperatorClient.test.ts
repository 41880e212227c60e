/** The typed client of the operator API, against the running service. */
import { FetchHttpClient } from "@effect/platform"
import { expect, layer } from "@effect/vitest"
import { Delivery, User } from "@startlist/core"
import { OperatorApi } from "@startlist/node"
import { Effect, Option, Redacted } from "effect"
import * as InProcessService from "@startlist/test-support/InProcessService"

const clientWith = (token: (operatorToken: string) => string) =>
  Effect.flatMap(
    InProcessService.InProcessService,
    ({ operatorToken, url }) => OperatorApi.client({ url, token: Redacted.make(token(operatorToken)) })
  ).pipe(Effect.provide(FetchHttpClient.layer))

const athlete = {
  role: "athlete",
  email: "ada@example.test",
  password: Redacted.make("correct horse"),
  first_name: Option.some("Ada"),
  last_name: Option.none()
} as const

const firstPage = { after: Option.none(), limit: 10 }

layer(InProcessService.layer())("the typed client", (it) => {
  it.effect("returns the decoded response of the service", () =>
    Effect.gen(function*() {
      const client = yield* clientWith((token) => token)
      const user = yield* client.users.createUser({ payload: athlete })
      expect(user).toMatchObject({ role: "athlete", email: "ada@example.test" })
      expect(yield* client.users.getUser({ path: { id: User.UserId.make(user.id) } })).toEqual(user)
      const { applications } = yield* client.applications.listApplications({ urlParams: firstPage })
      expect(applications).toEqual([])
    }))

  it.effect("fails with typed refusals", () =>
    Effect.gen(function*() {
      const client = yield* clientWith((token) => token)
      const unknown = yield* Effect.flip(client.deliveries.redeliver({ path: { id: Delivery.DeliveryId.make(4711) } }))
      expect(unknown).toMatchObject({ _tag: "NotFound", errors: [{ resource: "Delivery" }] })
      const stranger = yield* clientWith((token) => `${token}x`)
      const refused = yield* Effect.flip(stranger.audit.listAudit({
        urlParams: {
          action: Option.none(),
          user_id: Option.none(),
          client_id: Option.none(),
          since: Option.none(),
          until: Option.none(),
          ...firstPage
        }
      }))
      expect(refused).toMatchObject({ _tag: "Unauthorized" })
    }))
})

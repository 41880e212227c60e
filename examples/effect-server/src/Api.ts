/** The server's own API: one endpoint, for applications that a user has allowed to read. */
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { EffectHttp } from "@startlist/http"
import { Effect, Schema } from "effect"

const Results = Schema.Struct({ results: Schema.Array(Schema.String), user: Schema.Int, application: Schema.Int })

export class Api extends HttpApi.make("club").add(
  HttpApiGroup.make("results").add(HttpApiEndpoint.get("list", "/results").addSuccess(Results))
) {}

export const layer = HttpApiBuilder.group(
  Api,
  "results",
  (handlers) =>
    handlers.handle(
      "list",
      () =>
        EffectHttp.guard({ scopes: ["read"] }, (access) =>
          Effect.succeed({ results: [], user: access.userId, application: access.applicationId }))
    )
)

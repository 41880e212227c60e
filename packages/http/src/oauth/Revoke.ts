/** `POST /oauth/revoke`: an application gives up its access (requirements §4.4, RFC 7009). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ClientCredentials } from "@startlist/core/Applications"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import type { UserId } from "@startlist/core/User"
import { Audit, Party } from "../Audit.ts"
import { lasting } from "../internal/lasting.ts"
import type { Request, Response } from "../Message.ts"
import { get } from "../Parameters.ts"
import { describe } from "../Refusal.ts"
import type { Refuse, Route } from "../Router.ts"
import type { Throttle } from "../Throttle.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/** "An empty JSON object in every case" (requirements §4.4). */
const empty: Response = OAuthResponse.json(200, {})

/**
 * "Never an error body" (requirements §7). The status tells the truth where the token may be alive although the request
 * was right: when the store is down, and when the client has to wait.
 */
const refuseSilently: Refuse = (_request, error) => {
  const { headers, status } = describe(error)
  return status === 405 || status === 429 || status === 503 ? OAuthResponse.json(status, {}, headers) : empty
}

/** Whatever went wrong with the request itself, it revoked nothing and is answered like one that did. */
const silence = (response: Response): Response => response.status === 200 ? response : empty

export const make: Effect.Effect<Route, never, OAuth | Throttle> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const audit = yield* Audit
  const policy = yield* Policy
  const withClient = yield* ClientAuthentication.make

  const record = (client: ClientCredentials, ended: Option.Option<UserId>, { address }: Request) =>
    Effect.gen(function*() {
      if (Option.isNone(ended)) return
      const actor = Party.Application({ applicationId: client.id })
      const subject = Party.User({ userId: ended.value })
      yield* audit.record({ at: yield* DateTime.now, action: "revocation", actor, subject, address })
    })

  const endpoint = (request: Request) =>
    withClient(request, ({ client, parameters }) =>
      Effect.gen(function*() {
        const token = get(parameters, "token")
        if (token === undefined) return OAuthResponse.error(400, "invalid_request", "token is missing")
        yield* lasting(
          Effect.tap(oauth.revoke(client, Redacted.make(token)), (ended) => record(client, ended, request))
        )
        return empty
      }))

  return policy.profile === "rfc"
    ? { path: "/oauth/revoke", methods: { POST: endpoint }, refuse: OAuthResponse.refuse }
    : {
      path: "/oauth/revoke",
      methods: { POST: (request) => Effect.map(endpoint(request), silence) },
      refuse: refuseSilently
    }
})

/** `POST /oauth/revoke`: an application revokes its own access (requirements §4.4, RFC 7009). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ClientCredentials } from "@startlist/core/Client"
import { OAuth } from "@startlist/core/OAuth"
import { Policy } from "@startlist/core/Policy"
import type { UserId } from "@startlist/core/User"
import { Audit, Entry, Party, uninterrupted } from "@startlist/core/Audit"
import type { Request, Response } from "../Http.ts"
import { get } from "../Parameters.ts"
import { describe } from "../Refusal.ts"
import type { Endpoint, Refuse, Route } from "../Router.ts"
import { FailureLimit, refusedRevocationKeys } from "../FailureLimit.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/** "An empty JSON object in every case" (requirements §4.4): only the status says whether access has ended. */
const withoutError = (response: Response): Response => ({ ...response, body: "{}" })

const refuseWithoutError: Refuse = (request, error) => {
  const refused = OAuthResponse.refuse(request, error)
  // A wrong path is not this endpoint.
  return error._tag === "@startlist/http/ExtraSlashes" ? refused : withoutError(refused)
}

/** The route of the revocation endpoint. */
export const make: Effect.Effect<Route, never, Audit | OAuth | FailureLimit> = Effect.gen(function*() {
  const oauth = yield* OAuth
  const audit = yield* Audit
  const policy = yield* Policy
  const failures = yield* FailureLimit
  const withClient = yield* ClientAuthentication.make

  const record = (client: Pick<ClientCredentials, "id">, ended: Option.Option<UserId>, { address }: Request) =>
    Effect.gen(function*() {
      if (Option.isNone(ended)) return
      const actor = Party.Application({ applicationId: client.id })
      const subject = Party.User({ userId: ended.value })
      yield* audit.record(Entry.Acted({ at: yield* DateTime.now, action: "revocation", actor, subject, address }))
    })

  /** Anybody can send such requests, so the number of audit entries per network is limited. */
  const recordRefused = (request: Request, status: number) =>
    Effect.gen(function*() {
      const { address } = request
      if (Option.isSome(yield* failures.take(refusedRevocationKeys(address)))) return
      const claimed = ClientAuthentication.claimedId(request)
      const party = Option.match(claimed, {
        onNone: () => Party.Unknown(),
        onSome: (applicationId) => Party.Application({ applicationId })
      })
      const at = yield* DateTime.now
      yield* audit.record(Entry.Acted({
        at,
        action: "revocation_refused",
        actor: party,
        subject: party,
        address,
        detail: String(status)
      }))
    })

  const revoke: Endpoint = (request) =>
    withClient(request, ({ client, parameters }) =>
      Effect.gen(function*() {
        const token = get(parameters, "token")
        if (token === undefined) return OAuthResponse.error(400, "invalid_request", "token is missing")
        yield* uninterrupted(
          Effect.tap(oauth.revoke(client, Redacted.make(token)), (ended) => record(client, ended, request))
        )
        return OAuthResponse.json(200, {})
      }))

  const endpoint: Endpoint = (request) =>
    revoke(request, []).pipe(
      Effect.tap(({ status }) => status === 200 ? Effect.void : uninterrupted(recordRefused(request, status))),
      Effect.tapError((error) => uninterrupted(recordRefused(request, describe(error).status)))
    )

  return policy.describeRefusedRevocation
    ? { path: "/oauth/revoke", methods: { POST: endpoint }, refuse: OAuthResponse.refuse }
    : {
      path: "/oauth/revoke",
      methods: { POST: (request) => Effect.map(endpoint(request, []), withoutError) },
      refuse: refuseWithoutError
    }
})

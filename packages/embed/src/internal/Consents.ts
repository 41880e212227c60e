/** `/oauth/authorize` for your own consent page: the checked request, and both answers to it. */
import type { HttpConfig } from "@startlist/http/HttpConfig"
import type { Audit } from "@startlist/core/Audit"
import type { AuthorizationRequest } from "@startlist/core/Authorization"
import type { OAuth } from "@startlist/core/OAuth"
import type { StoreError } from "@startlist/core/Store"
import * as Authorization from "@startlist/http/Authorization"
import { header, type Request, type Response } from "@startlist/http/Http"
import { read } from "@startlist/http/Parameters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Run } from "./Draining.ts"
import type { Consents, NotAnswered, SentBack } from "./Calls.ts"
import * as Convert from "./Convert.ts"

const requestOf = (query: string, address: string): Request => {
  if (typeof query !== "string") throw new TypeError("query: must be the text of the query of your page")
  return { method: "GET", path: "/oauth/authorize", query: query.replace(/^\?/, ""), headers: {}, body, address }
}

const body = new Uint8Array()

const sentBack = (response: Response): SentBack => ({ redirect: header(response, "location") ?? "" })

/** Binds the use case of `/oauth/authorize` to `run`. */
export const make = (run: Run): Effect.Effect<Consents, never, Audit | HttpConfig | OAuth> =>
  Effect.map(Authorization.make, ({ allow, check, deny, sendBack }) => {
    type Refused = { readonly ok: false } & (SentBack | NotAnswered)
    const refuse = (refused: SentBack | NotAnswered) => Effect.succeed<Refused>({ ok: false, ...refused })

    const checked = <A>(
      request: Request,
      use: (asked: AuthorizationRequest) => Effect.Effect<A, StoreError>
    ): Promise<A | Refused> =>
      run(
        Effect.flatMap(read(request), check).pipe(
          Effect.flatMap((asked): Effect.Effect<A | Refused, StoreError> => use(asked)),
          Effect.catchTags({
            "@startlist/core/AuthorizationRefused": (refused) => refuse(sentBack(sendBack(refused))),
            "@startlist/http/NotRedirectable": ({ reason }) => refuse({ reason }),
            "@startlist/http/Malformed": () => refuse({ reason: "malformed" }),
            "@startlist/http/TooLarge": () => refuse({ reason: "malformed" }),
            "@startlist/http/UnsupportedMediaType": () => refuse({ reason: "malformed" })
          })
        )
      )

    return {
      check: async (query) =>
        checked(requestOf(query, ""), ({ application, redirectUri, role, scope }) =>
          Effect.succeed({
            ok: true as const,
            application: Convert.toApplication(application),
            scope: [...scope],
            role: Option.getOrUndefined(role),
            redirectUri
          })),
      allow: async (query, user, address = "") => {
        const request = requestOf(query, address)
        const person = Convert.fromUser(user, "user")
        return checked(request, (asked) =>
          allow(request, asked, person).pipe(
            Effect.map((response) => ({ ok: true as const, ...sentBack(response) })),
            Effect.catchTag("@startlist/core/RoleMismatch", () => refuse({ reason: "wrong_role" }))
          ))
      },
      deny: async (query, user, address = "") => {
        const request = requestOf(query, address)
        const person = Convert.fromUser(user, "user")
        return checked(
          request,
          (asked) =>
            Effect.map(deny(request, asked, person), (response) => ({ ok: true as const, ...sentBack(response) }))
        )
      }
    }
  })

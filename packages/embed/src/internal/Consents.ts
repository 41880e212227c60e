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
import type { Run } from "./Binding.ts"
import * as Plain from "./Plain.ts"

/** A request of an application for a user's consent. */
export interface Asked {
  readonly application: Plain.Application
  readonly scope: ReadonlyArray<string>
  /** The role that the user must have, if the application requires one. */
  readonly role: Plain.Role | undefined
  readonly redirectUri: string
}

/**
 * The reason why the browser cannot be sent back: show it on your page. `malformed`: the query cannot be read.
 * `wrong_role`: the user does not have the role that the application requires.
 */
export interface NotAnswered {
  readonly reason: Authorization.NotRedirectable["reason"] | "malformed" | "wrong_role"
}

/** A URL of the application, to which you send the browser with 303. */
export interface SentBack {
  readonly redirect: string
}

/**
 * `query` is the unchanged query of the request to your page, with or without its question mark. Nothing is stored
 * between the page and the decision: pass the same query again.
 */
export interface Consents {
  /** Checks a request. With `redirect`, the application made a mistake, and the redirect reports it. */
  readonly check: (query: string) => Promise<Plain.Result<Asked, SentBack | NotAnswered>>
  /** The user allows the access. `address` is the network address of the client, for the audit. */
  readonly allow: (
    query: string,
    user: Plain.User,
    address?: string
  ) => Promise<Plain.Result<SentBack, SentBack | NotAnswered>>
  /** The user refuses the access. */
  readonly deny: Consents["allow"]
}

const requestOf = (query: string, address: string): Request => ({
  method: "GET",
  path: "/oauth/authorize",
  query: query.replace(/^\?/, ""),
  headers: {},
  body: new Uint8Array(),
  address
})

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
      check: (query) =>
        checked(requestOf(query, ""), ({ application, redirectUri, role, scope }) =>
          Effect.succeed({
            ok: true as const,
            application: Plain.toApplication(application),
            scope: [...scope],
            role: Option.getOrUndefined(role),
            redirectUri
          })),
      allow: (query, user, address = "") => {
        const request = requestOf(query, address)
        return checked(request, (asked) =>
          allow(request, asked, Plain.fromUser(user)).pipe(
            Effect.map((response) => ({ ok: true as const, ...sentBack(response) })),
            Effect.catchTag("@startlist/core/RoleMismatch", () => refuse({ reason: "wrong_role" }))
          ))
      },
      deny: (query, user, address = "") => {
        const request = requestOf(query, address)
        return checked(
          request,
          (asked) =>
            Effect.map(
              deny(request, asked, Plain.fromUser(user)),
              (response) => ({ ok: true as const, ...sentBack(response) })
            )
        )
      }
    }
  })

/** Client authentication at the token, revocation and introspection endpoints (RFC 6749 §2.3.1). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { type ApplicationId, InvalidClient } from "@startlist/core/Application"
import type { ClientCredentials } from "@startlist/core/Client"
import { Policy } from "@startlist/core/Policy"
import { Audit, Entry, Party } from "@startlist/core/Audit"
import { credentials, type Request, type Response } from "../Http.ts"
import { get, type Parameters, parseClientId, read, readOnce } from "../Parameters.ts"
import { type Refusal, TooMany } from "../Refusal.ts"
import { clientKeys, FailureLimit } from "../FailureLimit.ts"
import * as ApplicationLimits from "../ApplicationLimits.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/** The parameters of a request and the client that sent them. */
export interface PresentedClient {
  readonly parameters: Parameters
  readonly client: ClientCredentials<TooMany>
  /** Whether the credentials were in the header `Authorization`. */
  readonly usedBasic: boolean
}

/** Id and secret in Basic credentials (RFC 6749 §2.3.1): each form-encoded, joined by a colon, in base64 of UTF-8. */
const parseBasic = (value: string): Option.Option<readonly [id: string, secret: string]> => {
  // Check first: a decoder would skip spaces, which a token68 must not have (RFC 9110 §11.2).
  if (value.includes(" ")) return Option.none()
  try {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0))
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const colon = decoded.indexOf(":")
    if (colon < 0) return Option.none()
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "))
    return Option.some([decode(decoded.slice(0, colon)), decode(decoded.slice(colon + 1))])
  } catch {
    return Option.none()
  }
}

/** The parameters of the endpoints for clients. Others are ignored, and may repeat. */
const known = [
  "client_id",
  "client_secret",
  "grant_type",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "scope",
  "token",
  "token_type_hint"
]

const invalid = (description: string) => Either.left(OAuthResponse.error(400, "invalid_request", description))

/** Reads the parameters, from the query only if the policy allows it, or returns a refusal. */
export const readParameters = (
  request: Request,
  policy: Policy.Service
): Either.Either<Parameters, Refusal | Response> =>
  !policy.acceptQueryParameters && request.query !== ""
    ? invalid("parameters must be sent in the body")
    : readOnce(request, known)

/** Answers with a refusal. */
export const refuse = (refused: Refusal | Response): Effect.Effect<Response, Refusal> =>
  "_tag" in refused ? Effect.fail(refused) : Effect.succeed(refused)

/** Reads the parameters and the client's credentials, or returns a refusal. */
const readCredentials = (
  request: Request,
  policy: Policy.Service,
  admit: ApplicationLimits.ApplicationLimits["admit"]
): Either.Either<PresentedClient, Refusal | Response> => {
  const readable = readParameters(request, policy)
  if (Either.isLeft(readable)) return Either.left(readable.left)
  const parameters = readable.right
  const basic = credentials(request, "basic")
  const usedBasic = basic !== undefined
  const present = (id: string | undefined, secret: string | undefined): Either.Either<PresentedClient, Response> => {
    if (id === undefined || secret === undefined) return Either.left(OAuthResponse.invalidClient(usedBasic))
    const clientId = parseClientId(id)
    if (Option.isNone(clientId)) return invalid("client_id must be a positive integer")
    const client: ClientCredentials<TooMany> = {
      id: clientId.value,
      secret: Redacted.make(secret),
      address: request.address,
      admit: ({ id, requestsPerMinute }) => admit(request, id, requestsPerMinute)
    }
    return Either.right({ parameters, client, usedBasic })
  }
  if (basic === undefined) return present(get(parameters, "client_id"), get(parameters, "client_secret"))
  // RFC 6749 §2.3: one method per request. The same `client_id` as a parameter is not a second method.
  if (get(parameters, "client_secret") !== undefined) {
    return invalid("client_secret is sent beside Basic credentials. Send the secret once.")
  }
  const named = get(parameters, "client_id")
  return Option.match(parseBasic(basic), {
    onNone: () => invalid("the Basic credentials are malformed"),
    onSome: ([id, secret]) =>
      named === undefined || named === id
        ? present(id, secret)
        : invalid("client_id differs from the one in the Basic credentials. Send one client_id.")
  })
}

/** The client that a refused request names, if it can be read: for the audit. */
export const claimedId = (request: Request): Option.Option<ApplicationId> => {
  const basic = credentials(request, "basic")
  const named = basic === undefined
    ? Option.flatMap(Either.getRight(read(request)), ({ values }) => Option.fromNullable(values.get("client_id")))
    : Option.map(parseBasic(basic), ([id]) => id)
  return Option.flatMap(named, parseClientId)
}

const isInvalidClient = (error: unknown): error is InvalidClient => error instanceof InvalidClient

/**
 * Runs the request of a client with the credentials that it presents. `attempt` checks them. A failure is counted,
 * recorded and answered; too many of them get 429.
 */
export type WithClient = <E>(
  request: Request,
  attempt: (presented: PresentedClient) => Effect.Effect<Response, InvalidClient | E>
) => Effect.Effect<Response, Exclude<E, InvalidClient> | Refusal>

/** Checks the credentials of clients, and limits failures. */
export const make: Effect.Effect<WithClient, never, Audit | FailureLimit> = Effect.gen(function*() {
  const failures = yield* FailureLimit
  const audit = yield* Audit
  const policy = yield* Policy
  const { admit } = yield* ApplicationLimits.make

  // Check the secret first and limit only failures, so that nobody can lock a client out. A secret has 256 bits.
  const failed = Effect.fnUntraced(function*({ client, usedBasic }: PresentedClient, address: string) {
    const wait = yield* failures.take(clientKeys(client.id, address))
    if (Option.isSome(wait)) return yield* TooMany.after(wait.value)
    const application = Party.Application({ applicationId: client.id })
    const at = yield* DateTime.now
    yield* audit.record(Entry.Acted({
      at,
      action: "client_authentication_failed",
      actor: application,
      subject: application,
      address
    }))
    return OAuthResponse.invalidClient(usedBasic)
  })

  return <E>(request: Request, attempt: (presented: PresentedClient) => Effect.Effect<Response, InvalidClient | E>) => {
    const read = readCredentials(request, policy, admit)
    if (Either.isLeft(read)) return refuse(read.left)
    const presented = read.right
    return Effect.catchIf(
      attempt(presented),
      isInvalidClient,
      ({ reason }) =>
        reason === "suspended"
          ? Effect.succeed(OAuthResponse.suspendedClient)
          : failed(presented, request.address)
    )
  }
})

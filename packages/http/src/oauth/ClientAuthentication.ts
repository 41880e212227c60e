/** How a client proves itself at the token, revocation and introspection endpoints (RFC 6749 §2.3.1). */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { ApplicationId, InvalidClient } from "@startlist/core/Application"
import type { ClientCredentials } from "@startlist/core/Applications"
import { Policy } from "@startlist/core/Policy"
import { maxId } from "@startlist/core/Store"
import { Audit, Party } from "../Audit.ts"
import { header, type Request, type Response } from "../Message.ts"
import { get, type Parameters, readOnce } from "../Parameters.ts"
import { type Refusal, TooMany } from "../Refusal.ts"
import { clientKeys, Throttle } from "../Throttle.ts"
import * as OAuthResponse from "./OAuthResponse.ts"

/** The parameters of a request and the client that sent them. */
export interface Presented {
  readonly parameters: Parameters
  readonly client: ClientCredentials
  readonly usedBasic: boolean
}

/** A decimal integer from 1, below 2^53: no sign, no exponent, no leading zero (requirements §2.1). */
export const parseClientId = (value: string): Option.Option<ApplicationId> => {
  if (!/^[1-9][0-9]{0,15}$/.test(value)) return Option.none()
  const id = Number(value)
  return id <= maxId ? Option.some(ApplicationId.make(id, { disableValidation: true })) : Option.none()
}

/** Id and secret as RFC 6749 §2.3.1 has them: each form-encoded, joined by a colon, in base64 of UTF-8. */
const parseBasic = (value: string): Option.Option<readonly [id: string, secret: string]> => {
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

const invalid = (description: string) => Either.left(OAuthResponse.error(400, "invalid_request", description))

/** Reads the parameters and the client's credentials, or answers why they cannot be read. */
const readCredentials = (request: Request, policy: Policy.Service): Either.Either<Presented, Refusal | Response> => {
  if (policy.profile === "rfc" && request.query !== "") return invalid("parameters must be sent in the body")
  const read = readOnce(request)
  if (Either.isLeft(read)) return Either.left(read.left)
  const parameters = read.right
  const authorization = header(request, "authorization")
  const basic = authorization === undefined ? null : /^basic +([^ ]*) *$/i.exec(authorization)
  const usedBasic = basic !== null
  const present = (id: string | undefined, secret: string | undefined): Either.Either<Presented, Response> => {
    if (id === undefined || secret === undefined) return Either.left(OAuthResponse.invalidClient(usedBasic))
    const clientId = parseClientId(id)
    return Option.isNone(clientId)
      ? invalid("client_id must be a positive integer")
      : Either.right({ parameters, client: { id: clientId.value, secret: Redacted.make(secret) }, usedBasic })
  }
  if (basic === null) return present(get(parameters, "client_id"), get(parameters, "client_secret"))
  if (parameters.values.has("client_id") || parameters.values.has("client_secret")) {
    return invalid("the client credentials are given in two places")
  }
  return Option.match(parseBasic(basic[1] ?? ""), {
    onNone: () => invalid("the Basic credentials are malformed"),
    onSome: ([id, secret]) => present(id, secret)
  })
}

const isInvalidClient = (error: unknown): error is InvalidClient => error instanceof InvalidClient

/**
 * Runs what a client asks for with the credentials that it presents, unless they cannot be read or failed too often.
 * `attempt` checks them; a failure is counted, recorded and answered.
 */
export type WithClient = <E>(
  request: Request,
  attempt: (presented: Presented) => Effect.Effect<Response, InvalidClient | E>
) => Effect.Effect<Response, Exclude<E, InvalidClient> | Refusal>

export const make: Effect.Effect<WithClient, never, Throttle> = Effect.gen(function*() {
  const throttle = yield* Throttle
  const audit = yield* Audit
  const policy = yield* Policy

  const failed = Effect.fnUntraced(function*({ client, usedBasic }: Presented, address: string) {
    yield* throttle.failed(clientKeys(client.id, address))
    const application = Party.Application({ applicationId: client.id })
    const at = yield* DateTime.now
    yield* audit.record({
      at,
      action: "client_authentication_failed",
      actor: application,
      subject: application,
      address
    })
    return OAuthResponse.invalidClient(usedBasic)
  })

  return <E>(request: Request, attempt: (presented: Presented) => Effect.Effect<Response, InvalidClient | E>) => {
    const read = readCredentials(request, policy)
    if (Either.isLeft(read)) return "_tag" in read.left ? Effect.fail(read.left) : Effect.succeed(read.left)
    const presented = read.right
    const { address } = request
    const keys = clientKeys(presented.client.id, address)
    return Effect.flatMap(
      throttle.blocked(keys),
      (wait): Effect.Effect<Response, Exclude<E, InvalidClient> | TooMany> =>
        Option.isSome(wait)
          ? Effect.fail(TooMany.after(wait.value))
          : Effect.catchIf(attempt(presented), isInvalidClient, () => failed(presented, address))
    )
  }
})

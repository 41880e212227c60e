/** Checks that a form belongs to this service and to the session of its sender. */
import * as Either from "effect/Either"
import { header, type Request } from "@startlist/http/Message"
import { type Ambiguous, get, type Parameters, readOnce, type Unreadable } from "@startlist/http/Parameters"
import { type HttpConfig, originOf } from "@startlist/http/HttpConfig"

/** The parameters of a form, and whether it carries the token of the session. */
export interface Posted {
  readonly parameters: Parameters
  /**
   * Whether the form comes from this service, and from this session or an earlier one of the same user in this browser.
   * Otherwise it must not change anything.
   */
  readonly isGenuine: (csrf: string) => boolean
  /** Whether the browser says that the form comes from this origin (Fetch Metadata): then it is ours. */
  readonly isOurs: boolean
}

/** Reads a form. With `known`, only these fields must not repeat. */
export const read = (
  request: Request,
  config: HttpConfig.Service,
  known?: ReadonlyArray<string>
): Either.Either<Posted, Unreadable | Ambiguous> =>
  Either.map(readOnce(request, known), (parameters) => {
    const sent = get(parameters, "csrf") ?? ""
    const isOurs = header(request, "sec-fetch-site") === "same-origin"
    return {
      parameters,
      isOurs,
      isGenuine: (csrf) =>
        isSameOrigin(request, config) &&
        (isEqual(sent, csrf) || isOurs && userOf(csrf) !== "" && userOf(sent) === userOf(csrf))
    }
  })

/** The user of a form token by `Sessions.csrfOf`. Other tokens have none. */
const userOf = (csrf: string): string => /^for-\d+\./.exec(csrf)?.[0] ?? ""

/**
 * Whether the browser names no other origin as that of the form. Our pages have the referrer policy `no-referrer`, so
 * browsers send `null` from them: then only the token decides.
 */
const isSameOrigin = (request: Request, config: HttpConfig.Service): boolean => {
  if (header(request, "sec-fetch-site") === "cross-site") return false
  const origin = header(request, "origin")
  if (origin === undefined || origin === "null" || origin === originOf(config)) return true
  const host = header(request, "host")
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)
}

/** Compares in constant time, which does not reveal the place of a difference. */
const isEqual = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1))
  return difference === 0 && b !== ""
}

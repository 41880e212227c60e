/** Whether a posted form is one of ours, in the session of the one who posts it. */
import * as Either from "effect/Either"
import { header, type Request } from "@startlist/http/Message"
import { type Ambiguous, get, type Parameters, readOnce, type Unreadable } from "@startlist/http/Parameters"
import { type HttpConfig, originOf } from "@startlist/http/HttpConfig"

/** The parameters of a form, and whether it carries the token of the session. */
export interface Posted {
  readonly parameters: Parameters
  /** A forged form changes nothing. */
  readonly isGenuine: (csrf: string) => boolean
}

export const read = (request: Request, config: HttpConfig.Service): Either.Either<Posted, Unreadable | Ambiguous> =>
  Either.map(readOnce(request), (parameters) => ({
    parameters,
    isGenuine: (csrf) => isSameOrigin(request, config) && isEqual(get(parameters, "csrf") ?? "", csrf)
  }))

/**
 * Whether the browser names no other origin than ours as the one with the form. `null` is what browsers send from our
 * pages, whose referrer policy is `no-referrer`: then the token alone decides.
 */
const isSameOrigin = (request: Request, config: HttpConfig.Service): boolean => {
  if (header(request, "sec-fetch-site") === "cross-site") return false
  const origin = header(request, "origin")
  if (origin === undefined || origin === "null" || origin === originOf(config)) return true
  const host = header(request, "host")
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)
}

/** Compares in a time that does not tell where the difference is. */
const isEqual = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1))
  return difference === 0 && b !== ""
}

/** Parameters of a request, from its query and from a form body, each at most once (RFC 6749 §3.1 and §3.2). */
import * as Either from "effect/Either"
import { header, maxBodyBytes, type Request } from "./Message.ts"
import { Malformed, Repeated, TooLarge, UnsupportedMediaType } from "./Refusal.ts"

export const formType = "application/x-www-form-urlencoded"

/** The decoded parameters by name. One that was sent without a value counts as omitted (RFC 6749 §3.1). */
export interface Parameters {
  readonly values: ReadonlyMap<string, string>
  /** Names that were given more than once; `values` has the first of each. */
  readonly repeated: ReadonlySet<string>
}

/** The value of a parameter, if it has one. */
export const get = ({ values }: Parameters, name: string): string | undefined => values.get(name) || undefined

/** Why parameters cannot be read at all. */
export type Unreadable = TooLarge | UnsupportedMediaType | Malformed

const noneRepeated: ReadonlySet<string> = new Set()

/** `Content-Type` without its parameters, in lower case. */
export const mediaType = (request: Request): string => {
  const value = header(request, "content-type")
  if (value === undefined || value === formType) return value ?? ""
  return value.split(";", 1)[0]?.trim().toLowerCase() ?? ""
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The body as text; `undefined` if it is not UTF-8. */
export const text = (body: Uint8Array): string | undefined => {
  try {
    return utf8.decode(body)
  } catch {
    return undefined
  }
}

/** Reads query and form body. */
export const read = (request: Request): Either.Either<Parameters, Unreadable> => {
  const { body, query } = request
  if (body.byteLength > maxBodyBytes) return Either.left(new TooLarge())
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  if (query !== "" && !(isPrintable.test(query) && parse(query, values, repeated))) {
    return Either.left(new Malformed({ what: "query" }))
  }
  if (body.byteLength > 0) {
    if (mediaType(request) !== formType) return Either.left(new UnsupportedMediaType({ accepted: formType }))
    const form = text(body)
    if (form === undefined || !parse(form, values, repeated)) return Either.left(new Malformed({ what: "body" }))
  }
  return Either.right({ values, repeated: repeated.size === 0 ? noneRepeated : repeated })
}

/** Reads query and form body, and refuses what is repeated: two readings of one request are how checks are got round. */
export const readOnce = (request: Request): Either.Either<Parameters, Unreadable | Repeated> => {
  const parameters = read(request)
  if (Either.isLeft(parameters)) return parameters
  for (const name of parameters.right.repeated) return Either.left(new Repeated({ name: nameable(name) }))
  for (const value of parameters.right.values.values()) {
    if (value.includes("\0")) return Either.left(new Malformed({ what: "text of a parameter" }))
  }
  return parameters
}

/** What may stand in a query on the wire (RFC 3986 §3.4), generously. */
const isPrintable = /^[!-~]*$/

/** A parameter's name for an error message: ours, or nothing that comes from outside. */
const nameable = (name: string): string => /^[a-z_]{1,40}$/.test(name) ? name : "a parameter"

/** Adds the pairs of `source`; answers whether it could be decoded. */
const parse = (source: string, values: Map<string, string>, repeated: Set<string>): boolean => {
  for (const pair of source.split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? "" : decode(pair.slice(equals + 1))
    if (name === undefined || value === undefined) return false
    if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return true
}

/** `application/x-www-form-urlencoded` for one name or value; `undefined` for bad escapes and bad UTF-8. */
const decode = (encoded: string): string | undefined => {
  const spaced = encoded.includes("+") ? encoded.replaceAll("+", " ") : encoded
  if (!spaced.includes("%")) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return undefined
  }
}

/** Writes parameters in the same form. */
export const write = (parameters: Iterable<readonly [string, string]>): string =>
  Array.from(parameters, ([name, value]) => `${encode(name)}=${encode(value)}`).join("&")

/** The same for one name or value. */
export const encode = (value: string): string => encodeURIComponent(value).replaceAll("%20", "+")

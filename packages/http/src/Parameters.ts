/**
 * Parameters of a request, from its query and from a form body. Each has one reading (RFC 6749 §3.1 and §3.2): one
 * without a value counts as omitted, also beside one with a value. The same value in both places counts once. Different
 * values, or two in one place, are an error. Names that an endpoint does not know may repeat, like `resource` (RFC 8707 §2).
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { ApplicationId } from "@startlist/core/Application"
import { maxId, unsafeBrand } from "@startlist/core/Store"
import { header, maxBodyBytes, type Request } from "./Http.ts"
import { Contradictory, Malformed, Repeated, TooLarge, UnsupportedMediaType } from "./Refusal.ts"

/** The media type of a form. */
export const formType = "application/x-www-form-urlencoded"

/** The decoded parameters by name. */
export interface Parameters {
  /** A parameter that is only sent without a value is empty here. `get` omits it. */
  readonly values: ReadonlyMap<string, string>
  /** Names of ambiguous parameters, and the reason. `values` has their first value. */
  readonly ambiguous: ReadonlyMap<string, Ambiguous>
}

/** The reason why a parameter is ambiguous. */
export type Ambiguous = Repeated | Contradictory

/** The value of a parameter, if it has one. */
export const get = ({ values }: Parameters, name: string): string | undefined => values.get(name) || undefined

/** Why parameters cannot be read at all. */
export type Unreadable = TooLarge | UnsupportedMediaType | Malformed

const noneAmbiguous: Parameters["ambiguous"] = new Map()

/** `Content-Type` without its parameters, in lower case. */
export const mediaType = (request: Request): string => {
  const value = header(request, "content-type")
  if (value === undefined || value === formType) return value ?? ""
  return value.split(";", 1)[0]?.trim().toLowerCase() ?? ""
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The body as text, without a byte order mark at its start; `undefined` if it is not UTF-8. */
export const text = (body: Uint8Array): string | undefined => {
  try {
    return utf8.decode(body)
  } catch {
    return undefined
  }
}

/** Whether a body has no parameters: it is empty, or the `{}` that some HTTP clients send by default. */
export const isBlank = (body: Uint8Array): boolean => body.byteLength < 6 && ["", "{}"].includes(text(body) ?? "?")

/**
 * Reads query and form body. Beside a query, a blank body of any media type is ignored. A body without a media type is
 * a form, which some clients do not name, unless it looks like JSON: ignoring that could do what nobody asked for.
 */
export const read = (request: Request): Either.Either<Parameters, Unreadable> => {
  const { body, query } = request
  if (body.byteLength > maxBodyBytes) return Either.left(new TooLarge())
  const values = new Map<string, string>()
  const ambiguous = new Map<string, Ambiguous>()
  if (query !== "" && !(isPrintable.test(query) && parse(query, values, ambiguous))) {
    return Either.left(new Malformed({ what: "query" }))
  }
  if (body.byteLength > 0 && !(query !== "" && isBlank(body))) {
    const form = text(body)
    const type = mediaType(request)
    if (type !== formType && (type !== "" || /^\s*[{[]/.test(form ?? ""))) {
      return Either.left(new UnsupportedMediaType({ accepted: formType }))
    }
    const posted = query === "" ? values : new Map<string, string>()
    if (form === undefined || !parse(form, posted, ambiguous)) return Either.left(new Malformed({ what: "body" }))
    if (posted !== values) merge(values, posted, ambiguous)
  }
  return Either.right({ values, ambiguous: ambiguous.size === 0 ? noneAmbiguous : ambiguous })
}

/** Adds the parameters of the body. One that differs from the query would let two readers see different requests. */
const merge = (
  values: Map<string, string>,
  posted: ReadonlyMap<string, string>,
  ambiguous: Map<string, Ambiguous>
): void => {
  for (const [name, value] of posted) {
    if (!values.get(name)) values.set(name, value)
    else if (value !== "" && values.get(name) !== value && !ambiguous.has(name)) {
      ambiguous.set(name, new Contradictory({ name: nameable(name) }))
    }
  }
}

/** Why the first ambiguous parameter among these is so. */
export const findAmbiguous = ({ ambiguous }: Parameters, known: ReadonlyArray<string>): Ambiguous | undefined =>
  known.map((name) => ambiguous.get(name)).find((reason) => reason !== undefined)

/**
 * Reads query and form body, and refuses ambiguous parameters, which could bypass checks. With `known`, only those.
 */
export const readOnce = (
  request: Request,
  known?: ReadonlyArray<string>
): Either.Either<Parameters, Unreadable | Ambiguous> => {
  const parameters = read(request)
  if (Either.isLeft(parameters)) return parameters
  const { ambiguous } = parameters.right
  const reason = ambiguous.size === 0 ? undefined : findAmbiguous(parameters.right, known ?? [...ambiguous.keys()])
  if (reason !== undefined) return Either.left(reason)
  for (const value of parameters.right.values.values()) {
    if (value.includes("\0")) return Either.left(new Malformed({ what: "text of a parameter" }))
  }
  return parameters
}

/** Characters that a query on the wire may have: more than RFC 3986 §3.4 allows. */
const isPrintable = /^[!-~]*$/

/** A parameter's name for an error message, unless its characters do not belong there. */
const nameable = (name: string): string => /^[\w.-]{1,40}$/.test(name) ? name : "a parameter"

/** Adds the pairs of `source`. Returns whether it could be decoded. */
const parse = (source: string, values: Map<string, string>, ambiguous: Map<string, Ambiguous>): boolean => {
  for (const pair of source.split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? "" : decode(pair.slice(equals + 1))
    if (name === undefined || value === undefined) return false
    if (!values.get(name)) values.set(name, value)
    else if (value !== "") ambiguous.set(name, new Repeated({ name: nameable(name) }))
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

/** Writes parameters in the same form. A space becomes `%20`: not every client reads `+` as a space. */
export const write = (parameters: Iterable<readonly [string, string]>): string =>
  Array.from(parameters, (pair) => pair.map(encodeURIComponent).join("=")).join("&")

/** A decimal integer from 1, below 2^53: no sign, no exponent, no leading zero (requirements §2.1). */
export const parseClientId = (value: string): Option.Option<ApplicationId> => {
  if (!/^[1-9][0-9]{0,15}$/.test(value)) return Option.none()
  const id = Number(value)
  return id <= maxId ? Option.some(unsafeBrand(ApplicationId, id)) : Option.none()
}

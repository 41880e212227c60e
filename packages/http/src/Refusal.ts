/** Refusals that are the same for all endpoints. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type { StoreError } from "@startlist/core/Store"

/** There is nothing at this path (404). */
export class NotFound extends Data.TaggedError("@startlist/http/NotFound") {}

/** There is nothing at this path, but at `meant`, which has fewer slashes (404). */
export class ExtraSlashes extends Data.TaggedError("@startlist/http/ExtraSlashes")<{ readonly meant: string }> {}

/** The path does not have this method (405). `allow` is the header with its methods (RFC 9110 §15.5.6). */
export class MethodNotAllowed
  extends Data.TaggedError("@startlist/http/MethodNotAllowed")<{ readonly allow: string }>
{}

/** The body is over 64 KiB (413). */
export class TooLarge extends Data.TaggedError("@startlist/http/TooLarge") {}

/** The media type of the body is not supported (415). */
export class UnsupportedMediaType
  extends Data.TaggedError("@startlist/http/UnsupportedMediaType")<{ readonly accepted: string }>
{}

/** The body is compressed, or encoded otherwise (415). */
export class UnsupportedEncoding extends Data.TaggedError("@startlist/http/UnsupportedEncoding") {}

/** The query or body cannot be decoded: percent-encoding, UTF-8, JSON (400). `what` names the place. */
export class Malformed extends Data.TaggedError("@startlist/http/Malformed")<{ readonly what: string }> {}

/** A parameter appears twice in the query, or twice in the body (400). */
export class Repeated extends Data.TaggedError("@startlist/http/Repeated")<{ readonly name: string }> {}

/** A parameter has different values in two places (400). */
export class Contradictory extends Data.TaggedError("@startlist/http/Contradictory")<{ readonly name: string }> {}

/** The request has more than `most` header lines (431). */
export class TooManyHeaders extends Data.TaggedError("@startlist/http/TooManyHeaders")<{ readonly most: number }> {}

/** The body came in more than `most` pieces (400). */
export class Fragmented extends Data.TaggedError("@startlist/http/Fragmented")<{ readonly most: number }> {}

/** A limit of failures, of the requests of an application, or of uses by one owner, is exceeded (429). */
export class TooMany extends Data.TaggedError("@startlist/http/TooMany")<{ readonly retryAfterSeconds: number }> {
  static after(wait: Duration.Duration): TooMany {
    return new TooMany({ retryAfterSeconds: Math.ceil(Duration.toSeconds(wait)) })
  }
}

/** This process has more requests than it can handle in time (503). It refuses immediately instead of late. */
export class Busy extends Data.TaggedError("@startlist/http/Busy") {}

/** A refusal of any endpoint. */
export type Refusal =
  | NotFound
  | ExtraSlashes
  | MethodNotAllowed
  | TooLarge
  | UnsupportedMediaType
  | UnsupportedEncoding
  | Malformed
  | Repeated
  | TooManyHeaders
  | Fragmented
  | Contradictory
  | TooMany
  | Busy

/** Status, message and headers of a refusal. Each family of endpoints has its own format of the body. */
export interface Refused {
  readonly status: number
  /** A sentence without quotation marks, as `error_description` requires (RFC 6749 §5.2). */
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

/** Seconds after which a client may retry when the database was unavailable. */
const retryAfter = "5"

/** Returns status, message and headers of a refusal. */
export const describe = (error: Refusal | StoreError): Refused => {
  switch (error._tag) {
    case "@startlist/http/NotFound":
      return { status: 404, message: "this path does not exist", headers: {} }
    case "@startlist/http/ExtraSlashes":
      return { status: 404, message: `this path does not exist. Use ${error.meant}`, headers: {} }
    case "@startlist/http/MethodNotAllowed":
      return { status: 405, message: `the method must be ${error.allow}`, headers: { allow: error.allow } }
    case "@startlist/http/TooLarge":
      return { status: 413, message: "the body is larger than 64 KiB", headers: {} }
    case "@startlist/http/UnsupportedMediaType":
      return {
        status: 415,
        message: `the content type must be ${error.accepted}`,
        headers: { accept: error.accepted }
      }
    case "@startlist/http/UnsupportedEncoding":
      return {
        status: 415,
        message: "the body must not be encoded: leave out Content-Encoding",
        headers: { "accept-encoding": "identity" }
      }
    case "@startlist/http/Malformed":
      return { status: 400, message: `the ${error.what} is malformed`, headers: {} }
    case "@startlist/http/Repeated":
      return { status: 400, message: `${error.name} appears more than once. Send it once.`, headers: {} }
    case "@startlist/http/Contradictory":
      return { status: 400, message: `${error.name} has different values in two places. Send it once.`, headers: {} }
    case "@startlist/http/TooManyHeaders":
      return { status: 431, message: `the request has more than ${error.most} headers`, headers: {} }
    case "@startlist/http/Fragmented":
      return { status: 400, message: `the body came in more than ${error.most} pieces`, headers: {} }
    case "@startlist/http/TooMany":
      return {
        status: 429,
        message: "too many requests, try again later",
        headers: { "retry-after": String(error.retryAfterSeconds) }
      }
    case "@startlist/http/Busy":
      return { status: 503, message: "the server is overloaded, try again later", headers: { "retry-after": "1" } }
    case "@startlist/core/StoreError":
      if (error.isRefused === true) return { status: 400, message: "a value cannot be stored", headers: {} }
      return { status: 503, message: "try again later", headers: { "retry-after": retryAfter } }
  }
}

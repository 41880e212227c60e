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

/** Status, code, message and headers of a refusal. Each family of endpoints has its own format of the body. */
export interface Refused {
  readonly status: number
  /** Names the reason in `/api/v1/*`. It never changes. */
  readonly code: string
  /** A sentence without quotation marks, as `error_description` requires (RFC 6749 §5.2). */
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

const refused = (status: number, code: string, message: string, headers: Refused["headers"] = {}): Refused => ({
  status,
  code,
  message,
  headers
})

/** Returns status, code, message and headers of a refusal. A database that was unavailable may be tried again after 5 s. */
export const describe = (error: Refusal | StoreError): Refused => {
  switch (error._tag) {
    case "@startlist/http/NotFound":
      return refused(404, "not_found", "this path does not exist")
    case "@startlist/http/ExtraSlashes":
      return refused(404, "not_found", `this path does not exist. Use ${error.meant}`)
    case "@startlist/http/MethodNotAllowed":
      return refused(405, "method_not_allowed", `the method must be ${error.allow}`, { allow: error.allow })
    case "@startlist/http/TooLarge":
      return refused(413, "too_large", "the body is larger than 64 KiB")
    case "@startlist/http/UnsupportedMediaType":
      return refused(415, "unsupported_media_type", `the content type must be ${error.accepted}`, {
        accept: error.accepted
      })
    case "@startlist/http/UnsupportedEncoding":
      return refused(415, "unsupported_encoding", "the body must not be encoded: leave out Content-Encoding", {
        "accept-encoding": "identity"
      })
    case "@startlist/http/Malformed":
      return refused(400, "malformed", `the ${error.what} is malformed`)
    case "@startlist/http/Repeated":
      return refused(400, "repeated", `${error.name} appears more than once. Send it once.`)
    case "@startlist/http/Contradictory":
      return refused(400, "repeated", `${error.name} has different values in two places. Send it once.`)
    case "@startlist/http/TooManyHeaders":
      return refused(431, "too_many_headers", `the request has more than ${error.most} headers`)
    case "@startlist/http/Fragmented":
      return refused(400, "fragmented", `the body came in more than ${error.most} pieces`)
    case "@startlist/http/TooMany":
      return refused(429, "too_many_requests", "too many requests, try again later", {
        "retry-after": String(error.retryAfterSeconds)
      })
    case "@startlist/http/Busy":
      return refused(503, "unavailable", "the server is overloaded, try again later", { "retry-after": "1" })
    case "@startlist/core/StoreError":
      return error.isRefused === true
        ? refused(400, "invalid", "a value cannot be stored")
        : refused(503, "unavailable", "try again later", { "retry-after": "5" })
  }
}

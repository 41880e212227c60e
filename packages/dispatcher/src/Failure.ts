/** Describes failed requests for the owner of the callback, without stacks, addresses and details of our network. */
import { Answer } from "@startlist/core/Callbacks"

const unreachable = (detail: string): Answer => Answer.Unreachable({ detail })

export const timedOut: Answer = Answer.TimedOut({ detail: "no answer in time" })

export const refusedUrl: Answer = Answer.Forbidden({ detail: "this URL may not be called" })

export const tooManyInterim: Answer = unreachable("too many interim answers (1xx)")

/** Descriptions by the `code` of errors of Node, undici, OpenSSL and c-ares. */
const details: Readonly<Record<string, string>> = {
  ENOTFOUND: "the name has no address",
  ENODATA: "the name has no address",
  EBADNAME: "the name has no address",
  ETIMEOUT: "the name could not be resolved",
  ESERVFAIL: "the name could not be resolved",
  EREFUSED: "the name could not be resolved",
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to the callback",
  ENETUNREACH: "no route to the callback",
  ETIMEDOUT: "no connection",
  CERT_HAS_EXPIRED: "TLS: the certificate has expired",
  CERT_NOT_YET_VALID: "TLS: the certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "TLS: the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "TLS: the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "TLS: the certificate is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "TLS: the certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "TLS: the certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "TLS: the certificate is not trusted",
  CERT_SIGNATURE_FAILURE: "TLS: the certificate is not trusted",
  UND_ERR_HEADERS_OVERFLOW: "the headers of the answer are too large",
  ANSWER_TOO_LARGE: "the answer is too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer is not valid HTTP"
}

/** Converts an error of the connection or of the protocol to an `Answer`. */
export const fromError = (error: unknown): Answer => {
  const code = codeOf(error)
  if (code === "FORBIDDEN_ADDRESS") {
    return Answer.Forbidden({ detail: "the address of the callback may not be called" })
  }
  const detail = details[code]
  if (detail !== undefined) return unreachable(detail)
  if (code.startsWith("HPE_")) return unreachable("the answer is not valid HTTP")
  if (code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") || code === "EPROTO") return unreachable("TLS failed")
  return unreachable("the connection was closed before the answer was complete")
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : ""

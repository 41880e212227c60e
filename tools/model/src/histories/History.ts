/**
 * Histories of one grant: one operation per request, as its caller observed it.
 *
 * Codes and pairs of tokens are numbered by first sight: an access token and the refresh token that came with it have
 * one number.
 */

/** A request of a caller. */
export type Request =
  | { readonly kind: "consent" }
  | { readonly kind: "exchange"; readonly code: number; readonly key: string | undefined }
  | { readonly kind: "refresh"; readonly pair: number; readonly key: string | undefined }
  | { readonly kind: "revoke"; readonly pair: number; readonly by: "access" | "refresh" }
  | { readonly kind: "check"; readonly pair: number }

export const kinds: ReadonlyArray<Request["kind"]> = ["consent", "exchange", "refresh", "revoke", "check"]

/** The response of the service: a status, and the issued code or pair. */
export interface Answer {
  readonly status: number
  readonly code?: number | undefined
  readonly pair?: number | undefined
}

export interface Operation {
  readonly caller: string
  /** The node that was asked. */
  readonly node: string
  readonly request: Request
  /** Milliseconds, on one clock for all callers. */
  readonly called: number
  readonly returned: number
  /** None: the outcome is unknown. The operation may take effect at any time after its call, or never. */
  readonly answer: Answer | undefined
}

export type History = ReadonlyArray<Operation>

const describeRequest = (request: Request): string => {
  switch (request.kind) {
    case "consent":
      return "consent"
    case "exchange":
      return `exchange code ${request.code}${describeKey(request.key)}`
    case "refresh":
      return `refresh with pair ${request.pair}${describeKey(request.key)}`
    case "revoke":
      return `revoke with the ${request.by} token of pair ${request.pair}`
    case "check":
      return `check the access token of pair ${request.pair}`
  }
}

const describeKey = (key: string | undefined): string => key === undefined ? "" : `, Idempotency-Key ${key}`

const describeAnswer = (answer: Answer | undefined): string => {
  if (answer === undefined) return "unknown"
  const given = answer.code !== undefined
    ? `, code ${answer.code}`
    : answer.pair !== undefined
    ? `, pair ${answer.pair}`
    : ""
  return `${answer.status}${given}`
}

/** One line for each operation, in the order of the calls. */
export const describe = (history: History): string => {
  const start = Math.min(...history.map(({ called }) => called))
  const at = (time: number): string => (time - start).toFixed(1).padStart(8)
  return [...history].sort((a, b) => a.called - b.called).map(({ answer, called, caller, node, request, returned }) =>
    `${at(called)} –${at(answer === undefined ? Infinity : returned)} ms  ${caller}  ${node}  ${
      describeRequest(request)
    } → ${describeAnswer(answer)}`
  ).join("\n")
}

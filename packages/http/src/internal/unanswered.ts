/** Responses of a binding itself. */
import type { Response } from "../Message.ts"

const noStore = { "cache-control": "no-store" }

/** The body did not arrive in time (RFC 9110 §15.5.9). */
export const tooLate: Response = { status: 408, headers: noStore, body: "" }

/** The request took too long and was interrupted. */
export const tooSlow: Response = { status: 503, headers: { ...noStore, "retry-after": "5" }, body: "" }

/** A bug, which is logged. */
export const broken: Response = { status: 500, headers: noStore, body: "" }

/** Logged if other middleware has read a body: its parsed value is not the sent bytes. */
export const readBefore = "the body of a request was read before Startlist: register body parsers after Startlist"

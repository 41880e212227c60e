/** What a binding answers itself, when no endpoint did. */
import type { Response } from "../Message.ts"

const noStore = { "cache-control": "no-store" }

/** The body did not come in time (RFC 9110 §15.5.9). */
export const tooLate: Response = { status: 408, headers: noStore, body: "" }

/** The work took too long, and was ended. */
export const tooSlow: Response = { status: 503, headers: { ...noStore, "retry-after": "5" }, body: "" }

/** A bug; the log says which. */
export const broken: Response = { status: 500, headers: noStore, body: "" }

/** What to log of a body that somebody has read before: what they made of it is not what was sent. */
export const readBefore = "the body of a request was read before: whatever reads bodies must stand behind Startlist"

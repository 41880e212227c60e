/** The bearer token of whoever operates the service. */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Redacted from "effect/Redacted"
import { header, type Request } from "@startlist/http/Message"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a request carries the operator token; the comparison takes the same time wherever they differ. */
export const isOperator = (token: Redacted.Redacted<string>): (request: Request) => boolean => {
  const expected = digest(Redacted.value(token))
  return (request) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(header(request, "authorization") ?? "") ?? []
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

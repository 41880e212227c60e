/** Entity tags (RFC 9110 §8.8.3), so that a browser that has a file already need not load it again. */
import { header, type Request } from "@startlist/http/Message"

/** A weak tag: the same for the compressed file. */
export const make = (version: string): string => `W/"${version}"`

/** Whether the client has what this tag names (RFC 9110 §13.1.2). */
export const isKnown = (request: Request, tag: string): boolean => {
  const known = header(request, "if-none-match") ?? ""
  return known.trim() === "*" || known.split(",").some((one) => one.trim() === tag)
}

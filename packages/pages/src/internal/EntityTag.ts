/** Entity tags (RFC 9110 §8.8.3): a browser does not load a file again. */
import { header, type Request } from "@startlist/http/Message"

/** A weak tag, because the compressed file has the same one. */
export const make = (version: string): string => `W/"${version}"`

/** Whether the client has the version with this tag (RFC 9110 §13.1.2). */
export const isKnown = (request: Request, tag: string): boolean => {
  const known = header(request, "if-none-match") ?? ""
  return known.trim() === "*" || known.split(",").some((one) => one.trim() === tag)
}

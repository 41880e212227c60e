/** What all pages have in common on the wire: their headers, and the redirect after a form. */
import type { VNode } from "preact"
import { renderToStaticMarkup } from "preact-render-to-string"
import type { Response } from "../Message.ts"

/** `formTargets` are the origins, besides ours, to which a form of this page may lead, by a redirect too. */
const headersWith = (formTargets: ReadonlyArray<string>): Response["headers"] => ({
  "content-type": "text/html;charset=UTF-8",
  "content-security-policy": [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    `form-action ${["'self'", ...formTargets].join(" ")}`,
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store"
})

const headers = headersWith([])

export interface Options {
  readonly formTargets?: ReadonlyArray<string>
  readonly headers?: Response["headers"]
}

/** A page. The renderer escapes every value. */
export const html = (status: number, page: VNode, options: Options = {}): Response => ({
  status,
  headers: {
    ...(options.formTargets === undefined ? headers : headersWith(options.formTargets)),
    ...options.headers
  },
  body: `<!doctype html>${renderToStaticMarkup(page)}`
})

/** See Other: the browser goes on with a GET, whatever it sent (RFC 9700 §4.12). */
export const redirect = (location: string, extra: Response["headers"] = {}): Response => ({
  status: 303,
  headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer", ...extra },
  body: ""
})

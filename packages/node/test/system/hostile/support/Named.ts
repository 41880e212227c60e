/** The responses that the design specifies. Every other response is a fault. */
import type { Answer } from "./Answers.ts"

type Check = (answer: Answer, path: string) => string | undefined

const json = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

const keysOf = (value: unknown): string =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value).sort().join() : "none"

const first = ({ headers }: Answer, name: string): string => headers.get(name)?.[0] ?? ""

const statuses = (...named: ReadonlyArray<number>) => new Set(named)

/** RFC 6749 §5.2; the characters of a description. */
const oauth: Check = (answer) => {
  const body = json(answer.body)
  if (!first(answer, "content-type").startsWith("application/json")) return "no JSON"
  if (answer.status === 200) return keysOf(body) === "none" ? "no JSON object" : undefined
  if (!statuses(400, 401, 404, 405, 413, 415, 429, 431).has(answer.status)) return "a status that is not named"
  if (keysOf(body) !== "error,error_description") return "not {error, error_description}"
  return /"error_description":"[\x20-\x21\x23-\x5b\x5d-\x7e]+"/.test(answer.body)
    ? undefined
    : "a character in the description"
}

/** Requirements §4.4 and §7. */
const revoke: Check = (answer) =>
  answer.body !== "{}"
    ? "not {}"
    : statuses(200, 400, 401, 405, 413, 415, 429, 431).has(answer.status)
    ? undefined
    : "a status that is not named"

const isProblem = (value: unknown): boolean => keysOf(value) === "code,field,message,resource"

/** Also has the field names of RFC 6750, except in responses that the framework of the operator API encodes. */
const errorKeys = new Set(["error,error_description,errors,message", "errors,message"])

const api: Check = (answer, path) => {
  const body = json(answer.body)
  if (answer.status === 204) return answer.body === "" ? undefined : "a body with 204"
  if (!statuses(200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 431).has(answer.status)) {
    return "a status that is not named"
  }
  if (!first(answer, "content-type").startsWith("application/json")) return "no JSON"
  if (answer.status < 300) return typeof body === "object" ? undefined : "no JSON object"
  if (typeof body !== "object" || body === null || !errorKeys.has(keysOf(body))) return "not {message, errors}"
  if (path.startsWith("/api/") && !("error" in body)) return "no error"
  return "errors" in body && Array.isArray(body.errors) && body.errors.length > 0 && body.errors.every(isProblem)
    ? undefined
    : "errors without their four fields"
}

/** Documents and metrics. */
const document: Check = (answer, path) =>
  answer.status === 200 ? (answer.body === "" ? "an empty document" : undefined) : api(answer, path)

/** Allowed redirects of a page: to a page, or to an application on this machine. */
const isSafeTarget = (location: string): boolean =>
  /^\/(?![/\\])[!-~]*$/.test(location) ||
  /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?][!-~]*)?$/.test(location)

const page: Check = (answer, path) => {
  if (answer.status === 303) {
    return isSafeTarget(first(answer, "location")) ? undefined : `a redirect to ${first(answer, "location")}`
  }
  if (!statuses(200, 201, 400, 403, 404, 405, 409, 410, 413, 414, 415, 422, 429, 431).has(answer.status)) {
    return "a status that is not named"
  }
  if (/^\/(?:assets\/|favicon\.ico|robots\.txt)/.test(path) && answer.status === 200) return undefined
  if (!first(answer, "content-type").startsWith("text/html")) return "no HTML"
  if (!/^<!doctype html><html.*<\/html>$/s.test(answer.body)) return "no whole page"
  if (!first(answer, "content-security-policy").includes("frame-ancestors 'none'")) return "a page that may be framed"
  if (first(answer, "x-frame-options") !== "DENY") return "a page that may be framed"
  // The reference is the same for everybody.
  if (/^\/docs(?:\/|$)/.test(path) && answer.status === 200) return undefined
  return first(answer, "cache-control") === "no-store" ? undefined : "a page that may be cached"
}

const documents = new Set(["/healthz", "/readyz", "/metrics", "/openapi.json", "/asyncapi.json"])

/** Pages for people below the paths of the protocol. */
const pages = new Set(["/oauth/authorize", "/.well-known/change-password"])

/** A path with too many slashes is answered like the one that is meant. */
const checkOf = (asked: string): Check => {
  const path = asked.replaceAll(/\/{2,}/g, "/").replace(/(.)\/$/, "$1")
  if (pages.has(path)) return page
  // With too many slashes, the answer says so: nothing was revoked, and a client can read that.
  if (asked === "/oauth/revoke") return revoke
  if (path.startsWith("/oauth/") || path.startsWith("/.well-known/")) return oauth
  if (documents.has(path)) return document
  return path.startsWith("/api/") || path.startsWith("/operator/") ? api : page
}

/** Required headers by status. */
const companions: Readonly<Record<number, string>> = { 401: "", 405: "allow", 429: "retry-after", 503: "retry-after" }

/** The fault of the response to a request to this path, if there is one. */
export const judge = (answer: Answer, method: string, path: string): string | undefined => {
  const companion = companions[answer.status] ?? ""
  if (answer.status >= 500) return "a failure"
  if (companion !== "" && !answer.headers.has(companion)) return `no ${companion}`
  if (answer.status === 401 && path.startsWith("/api/") && !answer.headers.has("www-authenticate")) {
    return "no challenge"
  }
  if (
    answer.headers.has("planted") ||
    (answer.headers.get("set-cookie") ?? []).some((cookie) => cookie.startsWith("planted"))
  ) {
    return "a header that the client planted"
  }
  if (method === "OPTIONS" && answer.status === 204) {
    return first(answer, "access-control-allow-origin") === "*" ? undefined : "a preflight for no origin"
  }
  return method === "HEAD" ? undefined : checkOf(path)(answer, path)
}

/** Node's own response to invalid or excessive HTTP: only a status, and the end of the connection. */
export const isNodesOwn = ({ body, headers, status }: Answer): boolean =>
  statuses(400, 408, 413, 417, 431).has(status) && body === "" && !headers.has("content-type")

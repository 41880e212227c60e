/** The path of a request for logs, traces and the audit, without secrets and e-mail addresses. */

/**
 * Cuts the path at the first character that no route has: a client that forgets the `?` sends its parameters as a path.
 * Long words are also removed, since they may be tokens, and the whole of an e-mail address.
 */
export const shownPath = (path: string): string =>
  path.replace(/\/[^/@]*?(?:@|%40).*/s, "/…").replace(/[^\w./-].*/s, "…").replaceAll(/[\w-]{25,}/g, "…").slice(0, 200)

/** The path of a request for logs and traces, without secrets. */

/**
 * Cuts the path at the first character that no route has: a client that forgets the `?` sends its parameters as a path.
 * Long words are also removed, since they may be tokens.
 */
export const shownPath = (path: string): string =>
  path.replace(/[^\w./-].*/s, "…").replaceAll(/[\w-]{25,}/g, "…").slice(0, 200)

/** The path of a request as it may stand in logs and traces. */

/**
 * Everything up to what no path of ours has: a client that forgets the `?` sends its parameters as a path. Long words are
 * left out too, since they may be tokens.
 */
export const shownPath = (path: string): string =>
  path.replace(/[^\w./-].*/s, "…").replaceAll(/[\w-]{25,}/g, "…").slice(0, 200)

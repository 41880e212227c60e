/** Parses request targets. */

/** The parts of a request target: the raw path, and the raw query without `?`. */
export interface Target {
  readonly path: string
  readonly query: string
}

/** Splits a target. Proxies may send an absolute one (RFC 9112 §3.2.2), and a Web `Request` always has one. */
export const parseTarget = (target: string): Target => {
  const local = toOriginForm(target)
  const mark = local.indexOf("?")
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) }
}

/** Removes scheme and host of an absolute target. */
const toOriginForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "").replace(/^(?=$|\?)/, "/")

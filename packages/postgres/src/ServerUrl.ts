/** URLs of databases, as libpq reads them: `postgres://user:password@host1:5432,host2:5432/database?sslmode=require`. */

import { readFileSync } from "node:fs"

/** A server, by name or address. */
export interface Server {
  readonly host: string
  readonly port: number
}

/** The parts of a URL. */
export interface Target {
  /** The URL for `pg`: with only the first server, and without `target_session_attrs`. */
  readonly url: string
  /** None if there is only one server: its address may be the path of a socket. */
  readonly servers: ReadonlyArray<Server>
  /** Servers and database, without user and password. */
  readonly description: string
}

const pattern = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(\/[^?#]*)?(\?[^#]*)?$/

const toServer = (text: string): Server | undefined => {
  const [, name = "", port = "5432"] = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  return name === "" || Number(port) > 65_535 ? undefined : { host: name.replace(/^\[|\]$/g, ""), port: Number(port) }
}

/** Parses a URL. None if it is invalid, or allows a server that does not take writes (`target_session_attrs`). */
export const parse = (given: string): Target | undefined => {
  const [, start, hosts = "", path = "", query = ""] = pattern.exec(given) ?? []
  if (start === undefined) return undefined
  const parameters = new URLSearchParams(query)
  const wanted = parameters.get("target_session_attrs")
  if (wanted !== null && wanted !== "read-write" && wanted !== "primary") return undefined
  parameters.delete("target_session_attrs")
  const names = hosts.split(",")
  const url = `${start}${names[0]}${path}${wanted === null ? query : `?${parameters}`}`
  const servers = names.length === 1 ? [] : names.flatMap((name) => toServer(name) ?? [])
  return URL.canParse(url) && (names.length === 1 || servers.length === names.length)
    ? { url, servers, description: hosts + path }
    : undefined
}

/** Why a certificate or key that a URL names cannot be read, such as `sslrootcert: ENOENT: …`. None if all can be read. */
export const whyUnreadable = (given: string): string | undefined => {
  const [, , , , query = ""] = pattern.exec(given) ?? []
  const parameters = new URLSearchParams(query)
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const path = parameters.get(name)
    try {
      if (path !== null && path !== "") readFileSync(path)
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : String(error)}`
    }
  }
  return undefined
}

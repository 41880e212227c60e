/** Resolves the host name of a callback URL. */
import { promises as dns } from "node:dns"
import { readFileSync } from "node:fs"
import { isIP } from "node:net"

/** Returns every address of a name. Rejects with an error of `node:dns`, or with `NoAddress` if the name has no address. */
export type Resolve = (name: string) => Promise<ReadonlyArray<string>>

/** The name exists, but it has no address. */
export class NoAddress extends Error {
  readonly code = "ENODATA"
}

/** Milliseconds to wait for the addresses of the other family, which may never arrive (RFC 8305 §3). */
const familyDelay = 150

/**
 * Looks a name up in the present hosts file, and then at name servers (`address` or `address:port`; default: those of
 * this machine). Not `dns.lookup`: it blocks the four threads that the process also needs for files and hashing, so
 * four names whose servers hang would block everything.
 */
export const make = (servers: ReadonlyArray<string> = []): Resolve => {
  const hosts = readHosts()
  const resolver = new dns.Resolver({ timeout: 900, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  return (name) => {
    const known = hosts.get(name)
    return known === undefined ? firstOf([resolver.resolve4(name), resolver.resolve6(name)]) : Promise.resolve(known)
  }
}

/**
 * Returns the addresses of all families that arrive in time. Always rejects with an error if there is no address: a
 * name server may return an empty list without an error, as for a CNAME without addresses.
 */
const firstOf = (families: ReadonlyArray<Promise<ReadonlyArray<string>>>): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const found: Array<string> = []
    const failures: Array<unknown> = []
    let waiting = families.length
    const settled = () => {
      waiting--
      if (found.length > 0) setTimeout(resolve, waiting > 0 ? familyDelay : 0, found)
      else if (waiting === 0) reject(failures[0] ?? new NoAddress())
    }
    for (const family of families) {
      family.then((addresses) => found.push(...addresses), (failure) => failures.push(failure)).then(settled)
    }
  })

const hostsFile = process.platform === "win32"
  ? `${process.env["SystemRoot"] ?? "C:\\Windows"}\\System32\\drivers\\etc\\hosts`
  : "/etc/hosts"

/** Parses the hosts file (hosts(5)): each line has an address, its names, and perhaps a comment. */
const readHosts = (): ReadonlyMap<string, ReadonlyArray<string>> => {
  const hosts = new Map<string, Array<string>>()
  for (const line of readText(hostsFile).split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** Resolves the host name of a callback URL. */
import { promises as dns } from "node:dns"
import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"

/** Returns every address of a name. Rejects with an error of `node:dns`, or with `NoAddress` if the name has no address. */
export type Resolve = (name: string) => Promise<ReadonlyArray<string>>

/** The name exists, but it has no address. */
export class NoAddress extends Error {
  readonly code = "ENODATA"
}

/** Milliseconds to wait for the addresses of the other family, which may never arrive (RFC 8305 §3). */
const familyDelay = 150

/** The files that configure name resolution. */
export interface Files {
  /** hosts(5). */
  readonly hosts: string
  /** resolv.conf(5). */
  readonly resolv: string
}

const systemFiles: Files = {
  hosts: process.platform === "win32"
    ? `${process.env["SystemRoot"] ?? "C:\\Windows"}\\System32\\drivers\\etc\\hosts`
    : "/etc/hosts",
  resolv: "/etc/resolv.conf"
}

/**
 * Looks a name up in the hosts file, and then at name servers (`address` or `address:port`; default: those of this
 * machine). The files are read again when they have changed.
 *
 * Not `dns.lookup`: it blocks the four threads that the process also needs for files and hashing, so four names whose
 * servers hang would block everything.
 */
export const make = (servers: ReadonlyArray<string> = [], files: Files = systemFiles): Resolve => {
  const hosts = rereading(files.hosts, readHosts)
  const resolver = rereading(files.resolv, (text) => {
    // Its constructor reads the other options of the file.
    const made = new dns.Resolver({ timeout: 900, tries: 2 })
    const chosen = servers.length > 0 ? servers : readServers(text)
    if (chosen.length > 0) made.setServers(chosen)
    return made
  })
  return (name) => {
    const known = hosts().get(name)
    if (known !== undefined) return Promise.resolve(known)
    const present = resolver()
    return firstOf([present.resolve4(name), present.resolve6(name)])
  }
}

/** Reads a file at the first call, and again when it has changed. A file that cannot be read is empty. */
const rereading = <A>(path: string, read: (text: string) => A): () => A => {
  let present: { readonly version: string; readonly value: A } | undefined
  return () => {
    const version = versionOf(path)
    if (present?.version !== version) present = { version, value: read(readText(path)) }
    return present.value
  }
}

/** Without such a file, as on Windows, another version each minute. */
const versionOf = (path: string): string => {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true })
    return `${ino} ${mtimeNs} ${size}`
  } catch {
    return `minute ${Math.floor(Date.now() / 60_000)}`
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

/** Each line has an address, its names, and perhaps a comment. */
const readHosts = (text: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const hosts = new Map<string, Array<string>>()
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) hosts.set(name, [...(hosts.get(name) ?? []), address])
  }
  return hosts
}

/** The name servers of resolv.conf, perhaps with ports, which the C library does not allow but c-ares does. */
const readServers = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^nameserver[\t ]+(\S+)/gm)].flatMap(([, server = ""]) =>
    isIP(server.replace(/^\[?([^\]]*?)\]?(?::\d+)?$/, "$1")) !== 0 || isIP(server) !== 0 ? [server] : []
  )

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

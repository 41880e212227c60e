/** A name server on loopback (RFC 1035 §4.1) with the answers of a test. */
import { Effect } from "effect"
import * as dgram from "node:dgram"
import { isIP } from "node:net"

/** The records of a name: IP addresses, and an alias (`cname:` and the name). */
export type Records = ReadonlyArray<string>

/** Returns the records of a name, a failure (RFC 1035 §4.1.1), or `undefined` for no answer. */
export type Zone = (name: string, family: 4 | 6) => Records | { readonly rcode: number } | undefined

const types = { A: 1, CNAME: 5, AAAA: 28 }

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")])),
    Buffer.from([0])
  ])

/** An IPv6 address with at most one `::`. */
const encodeIPv6 = (address: string): Buffer => {
  const [left = [], right = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""))
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right]
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex")
}

const encode = (record: string): readonly [type: number, data: Buffer] => {
  if (record.startsWith("cname:")) return [types.CNAME, encodeName(record.slice("cname:".length))]
  return isIP(record) === 4
    ? [types.A, Buffer.from(record.split(".").map(Number))]
    : [types.AAAA, encodeIPv6(record)]
}

/** Writes the answer to a question. An alias is part of the answer to every type. */
const respond = (query: Buffer, zone: Zone): Buffer | undefined => {
  const end = query.indexOf(0, 12) + 5
  const labels: Array<string> = []
  for (let at = 12; query[at] !== 0; at += (query[at] ?? 0) + 1) {
    labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)))
  }
  const wanted = query.readUInt16BE(end - 4)
  const found = zone(labels.join(".").toLowerCase(), wanted === types.AAAA ? 6 : 4)
  if (found === undefined) return undefined
  const records = "rcode" in found ? [] : found.map(encode)
  const answers = records.filter(([type]) => type === wanted || type === types.CNAME)
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | ("rcode" in found ? found.rcode : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers.length, 6)
  const resources = answers.map(([type, data]) =>
    Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data])
  )
  return Buffer.concat([header, query.subarray(12, end), ...resources])
}

/** Starts a name server and returns its `address:port`. It stops with the scope. */
export const makeNameServer = (zone: Zone) =>
  Effect.acquireRelease(
    Effect.async<dgram.Socket>((resume) => {
      const socket = dgram.createSocket("udp4")
      socket.on("message", (query, { address, port }) => {
        const answer = respond(query, zone)
        if (answer !== undefined) socket.send(answer, port, address)
      })
      socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.async<void>((resume) => void socket.close(() => resume(Effect.void)))
  ).pipe(Effect.map((socket) => `127.0.0.1:${socket.address().port}`))

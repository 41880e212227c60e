/** The requests on one connection, which may be damaged, split or cut off. */
import { FastCheck } from "effect"
import { type Answer, readAnswers, Unreadable } from "./Answers.ts"
import type { Base } from "./Bases.ts"
import { type Change, mutation } from "./Mutations.ts"
import { isNodesOwn, judge } from "./Named.ts"
import { isWellFormed, render, type Sent, type Values } from "./Requests.ts"
import { converse, type Transcript } from "./Wire.ts"

/** A change of bytes: replaces a number of bytes at a relative position. */
interface Damage {
  readonly at: number
  readonly gone: number
  readonly put: string
}

export interface Conversation {
  /** Number of a good request, modulo their count, and what is done to it. */
  readonly requests: ReadonlyArray<{ readonly base: number; readonly mutations: ReadonlyArray<Change> }>
  readonly damage: ReadonlyArray<Damage>
  /** Where it is split into pieces that are sent separately. */
  readonly cuts: ReadonlyArray<number>
  /** Number of times that the requests are pipelined. */
  readonly times: number
  /** Share that is sent before the client disconnects. `null`: sends everything and waits for the responses. */
  readonly until: number | null
}

const { array, constant, integer, nat, oneof, record, string } = FastCheck

const part = nat(1000).map((thousandths) => thousandths / 1000)

/** Mostly one request that is changed a little: what is changed in many ways is refused at the first. */
export const conversation: FastCheck.Arbitrary<Conversation> = record({
  requests: array(record({ base: nat(10_000), mutations: array(mutation, { maxLength: 4 }) }), {
    minLength: 1,
    maxLength: 4,
    size: "xsmall"
  }),
  damage: oneof(
    { weight: 6, arbitrary: constant([]) },
    {
      weight: 1,
      arbitrary: array(record({ at: part, gone: nat(20), put: string({ maxLength: 8, unit: "binary-ascii" }) }), {
        minLength: 1,
        maxLength: 3
      })
    }
  ),
  cuts: oneof({ weight: 3, arbitrary: constant([]) }, { weight: 1, arbitrary: array(part, { maxLength: 12 }) }),
  times: oneof({ weight: 19, arbitrary: constant(1) }, { weight: 1, arbitrary: integer({ min: 2, max: 150 }) }),
  until: oneof({ weight: 9, arbitrary: constant(null) }, { weight: 1, arbitrary: part })
})

const changed = (request: Sent, changes: ReadonlyArray<Change>): Sent =>
  changes.reduce((sent, change) => change(sent), request)

const damaged = (bytes: Buffer, { at, gone, put }: Damage): Buffer => {
  const index = Math.floor(at * bytes.length)
  return Buffer.concat([bytes.subarray(0, index), Buffer.from(put, "latin1"), bytes.subarray(index + gone)])
}

const divided = (bytes: Buffer, cuts: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

/** Each request names its own client address, so that limits on guesses do not affect later requests. */
const withAddress = (request: Sent, address: string): Sent => ({
  ...request,
  headers: [...request.headers, ["X-Forwarded-For", address]]
})

let addresses = 0
const nextAddress = (): string => {
  const n = ++addresses
  return `198.${18 + (n >> 16 & 1)}.${n >> 8 & 255}.${n & 255}`
}

/** The last request of each conversation, whose answer shows that the service still listens to this client. */
const goodbye = Buffer.from("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

/** Time without a byte (ms) after which a connection counts as waiting for the rest of a request. */
const silence = 100

export interface Told {
  readonly name: string
  readonly method: string
  readonly status: number
}

/** A wrong response of the service. */
export class Fault extends Error {}

const pathOf = ({ path }: Sent, values: Values): string => {
  const [base] = render({ ...bare, path }, values).toString("latin1").slice(4).split(/[ ?]/, 1)
  return base ?? ""
}

const bare: Sent = {
  method: "GET",
  path: "/",
  query: [],
  tail: "",
  version: "HTTP/1.1",
  headers: [],
  body: { _tag: "None" },
  framing: "length"
}

const show = ({ body, headers, status }: Answer): string =>
  `${status} ${JSON.stringify([...headers])} ${JSON.stringify(body.slice(0, 500))}`

/** Secrets that no response may contain unless its request did. No request sends them where they would be stored. */
const kept = ["operator", "password", "clientSecret"]

const checkSecrets = (sent: Buffer, { received }: Transcript, values: Values): void => {
  for (const name of kept) {
    const spellings = [String(values[name]), encodeURIComponent(String(values[name]))]
    const [at] = spellings.map((text) => received.indexOf(text)).filter((index) => index >= 0)
    if (at === undefined || spellings.some((text) => sent.includes(text))) continue
    throw new Fault(`an answer contains the secret ${name}: ${received.toString("latin1", Math.max(0, at - 500), at)}…`)
  }
}

/** For complete, unambiguous requests: each gets its own response, which its route specifies. */
const checkEach = (requests: ReadonlyArray<Sent>, answers: ReadonlyArray<Answer>, values: Values): void => {
  requests.forEach((request, i) => {
    const answer = answers[i]
    if (answer === undefined) throw new Fault(`no answer to request ${i + 1}, but ${answers.map(show).join("\n")}`)
    const problem = judge(answer, request.method, pathOf(request, values))
    if (problem !== undefined) throw new Fault(`${problem}: ${show(answer)}`)
  })
  if (answers.length !== requests.length + 1) {
    throw new Fault(`${answers.length} answers to ${requests.length + 1} requests`)
  }
}

/** For ambiguous requests: all responses are complete, and specified by some route or sent by the server itself. */
const checkAny = (answers: ReadonlyArray<Answer>): void => {
  for (const answer of answers) {
    const paths = ["/", "/oauth/token", "/oauth/revoke", "/api/v1/athlete", "/assets/", "/metrics"]
    const isNamed = isNodesOwn(answer) || paths.some((path) => judge(answer, "GET", path) === undefined)
    if (!isNamed) throw new Fault(`no route names this: ${show(answer)}`)
  }
}

/** Runs a conversation. Returns its result, or fails with a `Fault` that shows the bytes. */
export const have = (
  port: number,
  bases: ReadonlyArray<Base>,
  values: Values,
  one: Conversation
): Promise<ReadonlyArray<Told>> =>
  speak(port, bases, values, one).catch((error: unknown) => {
    throw error instanceof Fault ? new Fault(`${error.message}\n\n${describe(bases, one)}`) : error
  })

const speak = async (
  port: number,
  bases: ReadonlyArray<Base>,
  values: Values,
  { cuts, damage, requests, times, until }: Conversation
): Promise<ReadonlyArray<Told>> => {
  const chosen = Array.from({ length: times }, () => requests).flat().map(({ base, mutations }) => {
    const good = bases[base % bases.length] ?? { name: "GET /", request: bare }
    return { name: good.name, request: withAddress(changed(good.request, mutations), nextAddress()) }
  })
  const sent = chosen.map(({ request }) => request)
  // Together with other conversations, pipelined requests may exceed the queue of the service.
  const isClear = times === 1 && damage.length === 0 && until === null &&
    sent.every((request) => isWellFormed(request, values))
  const whole = damage.reduce(damaged, Buffer.concat([...sent.map((request) => render(request, values)), goodbye]))
  const bytes = until === null ? whole : whole.subarray(0, Math.floor(until * whole.length))
  const transcript = await converse(port, {
    pieces: divided(bytes, cuts),
    cut: until !== null,
    ...(isClear ? {} : { silence })
  })
  if (!transcript.ended) {
    throw new Fault(`no end, but ${transcript.received.toString("latin1").slice(0, 2000) || "nothing at all"}`)
  }
  if (until !== null) return []
  checkSecrets(bytes, transcript, values)
  if (!isClear && /HTTP\/1\.1 5\d\d/.test(transcript.received.toString("latin1"))) throw new Fault("a failure")
  const methods = sent.map(({ method }) => method)
  if (!isClear && methods.includes("HEAD")) return []
  try {
    const answers = readAnswers(transcript.received, methods)
    if (isClear) checkEach(sent, answers, values)
    else checkAny(answers)
    return answers.slice(0, sent.length).map(({ status }, i) => ({
      name: isClear ? chosen[i]?.name ?? "" : "what is not clear",
      method: methods[i] ?? "",
      status
    }))
  } catch (error) {
    if (error instanceof Unreadable) throw new Fault(`an answer that cannot be read: ${error.message}`)
    throw error
  }
}

/** The bytes of a conversation, with the names of the live values in them. */
const describe = (bases: ReadonlyArray<Base>, { requests, ...rest }: Conversation): string => {
  const text = requests.map(({ base, mutations }) =>
    render(changed(bases[base % bases.length]?.request ?? bare, mutations), {}).toString("latin1")
  )
  const how = rest.damage.length + rest.cuts.length > 0 || rest.times > 1 || rest.until !== null
    ? `\n${JSON.stringify(rest)}`
    : ""
  return text.map((one) => one.length > 3000 ? `${one.slice(0, 3000)}… (${one.length} bytes)` : one).join("\n") + how
}

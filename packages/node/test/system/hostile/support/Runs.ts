/** Every header and parameter with 15 kB of one character and a bad end: reading them is linear work. */
import type { Base } from "./Bases.ts"
import { type Conversation, have } from "./Conversations.ts"
import type { MeasuredService } from "./MeasuredService.ts"
import { add, type Change, replaceJson, replaceValue } from "./Mutations.ts"
import type { Sent, Values } from "./Requests.ts"

const characters = [" ", "\t", "a", "0", "/", ".", "=", ",", ";", ":", "-", "\"", "%", "["]

/** Headers that the service reads besides those that a request has already. Each request gets two of them. */
const readHeaders = [
  "Accept-Language",
  "Content-Type",
  "Cookie",
  "Forwarded",
  "Idempotency-Key",
  "Origin",
  "Sec-Fetch-HttpConfig",
  "Traceparent",
  "X-Forwarded-For",
  "X-Request-Id"
]

/** Nearly as long as the head of a request may be, in bytes. */
const longest = 15_000

/** Fits nothing, neither as one word nor as two. */
const ending = "! \""

/** `encoded` characters take more room. */
const run = (character: string, length: number, encoded = false): string =>
  character.repeat(length / (encoded ? encodeURIComponent(character).length : 1)) + ending

/** A header or parameter, and how a run of a character gets there. */
interface Place {
  readonly name: string
  readonly change: (character: string, length?: number) => Change
}

/** The beginning of a value that decides how the rest is read: a scheme, a type, the name of a cookie. */
const beginning = (value: string): string => /^[^ =/]{1,40}[ =/]/.exec(value)?.[0] ?? ""

const placesOf = ({ body, headers, query }: Sent, index: number): ReadonlyArray<Place> => [
  ...headers.map(([name, value], i): Place => ({
    name,
    change: (character, length = longest) => replaceValue("header", i, beginning(value) + run(character, length))
  })),
  ...readHeaders.filter((_, i) => i % 5 === index % 5).map((name): Place => ({
    name,
    change: (character, length = longest) => add("header", name, `x=${run(character, length)}`)
  })),
  ...query.map(([name], i): Place => ({
    name,
    change: (character, length = longest) => replaceValue("query", i, run(character, length, true))
  })),
  ...(body._tag === "Form" ? body.fields : []).map(([name], i): Place => ({
    name,
    change: (character, length = longest) => replaceValue("form", i, run(character, length))
  })),
  ...(body._tag === "Json" ? Array.from({ length: 8 }, (_, i) => i) : []).map((i): Place => ({
    name: `JSON value ${i}`,
    change: (character, length = longest) => replaceJson(i, run(character, length))
  }))
]

/** Number of rounds in which every header and parameter is sent once. */
export const parts = 30

/** Milliseconds of work from which a request is looked at again. A quadratic expression takes a hundred. */
const most = 50

/** A third of the length is a third of the work where it is linear, and a ninth where it is quadratic. */
const steepest = 4.5

/**
 * Sends the runs to one of `parts` of the places, or to all of them, in one conversation for each. Requests that take long are sent
 * again one by one, three times, since a garbage collection may have been part of it.
 */
export const sendRuns = async (
  service: MeasuredService,
  bases: ReadonlyArray<Base>,
  values: Values,
  part?: number
): Promise<void> => {
  const workOf = async (base: number, changes: ReadonlyArray<Change>): Promise<number> => {
    const requests = changes.map((change) => ({ base, mutations: [change] }))
    const one: Conversation = { requests, damage: [], cuts: [], times: 1, until: null }
    const before = await service.sample()
    await have(service.port, bases, values, one)
    return (await service.sample()).worked - before.worked
  }
  const leastWork = async (base: number, change: Change): Promise<number> =>
    Math.min(await workOf(base, [change]), await workOf(base, [change]), await workOf(base, [change]))
  /** The work, if it takes long and grows more than the length. Measured again: other processes can slow down one trial. */
  const steepWork = async (base: number, change: Place["change"], character: string): Promise<number | undefined> => {
    let least = 0
    for (let trial = 0; trial < 3; trial++) {
      least = await leastWork(base, change(character))
      if (least < most || least < steepest * await leastWork(base, change(character, longest / 3))) return undefined
    }
    return least
  }
  let place = 0
  for (const [base, { name, request }] of bases.entries()) {
    for (const { change, name: where } of placesOf(request, base)) {
      if (part !== undefined && place++ % parts !== part % parts) continue
      if (await workOf(base, characters.map((character) => change(character))) < most) continue
      for (const character of characters) {
        const least = await steepWork(base, change, character)
        if (least === undefined) continue
        throw new Error(`${name}: ${where} with a run of ${JSON.stringify(character)} takes ${Math.round(least)} ms`)
      }
    }
  }
}

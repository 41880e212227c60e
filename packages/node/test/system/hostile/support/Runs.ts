/** Every header and parameter with 15 kB of one character and a bad end: reading them is linear work. */
import type { Base } from "./Bases.ts"
import { type Conversation, have } from "./Conversations.ts"
import type { MeasuredService } from "./MeasuredService.ts"
import type { Mutation } from "./Mutations.ts"
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

type Place = (character: string, length?: number) => Mutation

/** The beginning of a value that decides how the rest is read: a scheme, a type, the name of a cookie. */
const beginning = (value: string): string => /^[^ =/]{1,40}[ =/]/.exec(value)?.[0] ?? ""

const placesOf = (
  { body, headers, query }: Sent,
  index: number
): ReadonlyArray<Place> => [
  ...headers.map(([, value], i): Place => (character, length = longest) => [
    "value",
    "header",
    i,
    beginning(value) + run(character, length)
  ]),
  ...readHeaders.filter((_, i) => i % 5 === index % 5).map(
    (name): Place => (character, length = longest) => ["add", "header", name, `x=${run(character, length)}`]
  ),
  ...query.map((_, i): Place => (character, length = longest) => ["value", "query", i, run(character, length, true)]),
  ...(body._tag === "Form" ? body.fields : []).map((_, i): Place => (character, length = longest) => [
    "value",
    "form",
    i,
    run(character, length)
  ]),
  ...(body._tag === "Json" ? Array.from({ length: 8 }, (_, i) => i) : []).map(
    (i): Place => (character, length = longest) => [
      "json",
      i,
      run(character, length)
    ]
  )
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
  const workOf = async (base: number, mutations: ReadonlyArray<Mutation>): Promise<number> => {
    const requests = mutations.map((mutation) => ({ base, mutations: [mutation] }))
    const one: Conversation = { requests, damage: [], cuts: [], times: 1, until: null }
    const before = await service.sample()
    await have(service.port, bases, values, one)
    return (await service.sample()).worked - before.worked
  }
  const leastWork = async (base: number, mutation: Mutation): Promise<number> => {
    const works = [await workOf(base, [mutation]), await workOf(base, [mutation]), await workOf(base, [mutation])]
    return Math.min(...works)
  }
  let place = 0
  for (const [base, { name, request }] of bases.entries()) {
    for (const mutationOf of placesOf(request, base)) {
      if (part !== undefined && place++ % parts !== part % parts) continue
      if (await workOf(base, characters.map((character) => mutationOf(character))) < most) continue
      for (const character of characters) {
        const mutation = mutationOf(character)
        const least = await leastWork(base, mutation)
        if (least < most || least < steepest * await leastWork(base, mutationOf(character, longest / 3))) continue
        const where = mutation.slice(0, 3).join(" ").slice(0, 60)
        throw new Error(`${name}: ${where} with a run of ${JSON.stringify(character)} takes ${Math.round(least)} ms`)
      }
    }
  }
}

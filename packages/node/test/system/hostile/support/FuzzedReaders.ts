/** Hostile requests to the client's inbox and to the fake. */
import { FastCheck } from "effect"
import { type Answer, readAnswers } from "./Answers.ts"
import { headerNames, headerValues, parameterNames, text } from "./Awkward.ts"
import { bodies, jsonValues } from "./AwkwardBodies.ts"
import { type Reader, type Readers } from "./Readers.ts"
import { type Body, type Framing, render, type Sent } from "./Requests.ts"
import { converse } from "./Wire.ts"

const { array, constant, constantFrom, integer, oneof, record, tuple } = FastCheck

/** Everything that is described, without the faults that a fake causes on request. */
const targets: Readonly<Record<Exclude<Reader, "sample">, ReadonlyArray<string>>> = {
  inbox: ["GET /callback", "POST /callback", "PUT /callback"],
  fake: [
    "GET /fake",
    "GET /fake/openapi.json",
    "POST /fake/consent",
    "POST /fake/time",
    "GET /fake/deliveries",
    "DELETE /fake/faults",
    "POST /fake/registrations",
    "PATCH /fake/registrations/1",
    "POST /fake/revocations",
    "POST /fake/users",
    "POST /fake/applications",
    "GET /fake/requests",
    "DELETE /fake/requests",
    "GET /fake/sign-in",
    "POST /fake/sign-in",
    "POST /fake/sign-out",
    "GET /oauth/authorize",
    "POST /oauth/token",
    "GET /api/v1/athlete",
    "GET /readyz"
  ]
}

/** Statuses of a reader, and those of Node for invalid HTTP. */
const statuses: Readonly<Record<keyof typeof targets, ReadonlySet<number>>> = {
  inbox: new Set([200, 400, 401, 403, 405, 408, 413, 417, 431]),
  fake: new Set([200, 201, 204, 302, 303, 400, 401, 403, 404, 405, 408, 413, 415, 417, 421, 422, 431])
}

const fields = constantFrom(
  "url",
  "user",
  "decision",
  "advance",
  "athlete",
  "organizer",
  "club",
  "comment",
  "reasons",
  "client_id",
  "role",
  "email",
  "name",
  "redirect_uris",
  "__proto__"
)
const plain = constantFrom<unknown>(1, 2, "alice@athletes.example", "1 minute", "athlete", "x", [], ["x"], true)

const requestOf = (reader: keyof typeof targets): FastCheck.Arbitrary<Sent> =>
  record({
    target: constantFrom(...targets[reader]),
    query: array(tuple(oneof(parameterNames, constantFrom("hub.challenge", "hub.verify_token", "return_to")), text), {
      maxLength: 3
    }),
    headers: array(
      tuple(
        oneof(headerNames, constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "startlist-sequence")),
        headerValues
      ),
      { maxLength: 4 }
    ),
    host: oneof({ weight: 8, arbitrary: constant("localhost") }, { weight: 1, arbitrary: text }),
    body: oneof(
      constant<Body>({ _tag: "None" }),
      bodies.map((raw): Body => ({ _tag: "Raw", text: raw })),
      FastCheck.dictionary(fields, oneof(plain, jsonValues)).map((value): Body => ({ _tag: "Json", value }))
    ),
    framing: constantFrom<Framing>("length", "chunked", "storm", "none", "short", "both", "bad chunk", "odd coding")
  }).map(({ body, framing, headers, host, query, target }) => {
    const [method = "", path = ""] = target.split(" ")
    return {
      method,
      path,
      query,
      tail: "",
      version: "HTTP/1.1",
      headers: [["Host", host], ["Content-Type", "application/json"], ...headers],
      body,
      framing
    }
  })

const check = (reader: keyof typeof targets, received: Buffer): ReadonlyArray<Answer> => {
  const answers = readAnswers(received, [])
  for (const { body, status } of answers) {
    if (!statuses[reader].has(status)) throw new Error(`the ${reader} answers ${status}: ${body.slice(0, 500)}`)
  }
  return answers
}

/** Memory in bytes for requests in progress and what a fake stores of them. */
const mostMemory = 200 * 1_048_576

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MB`

export interface Options {
  readonly seed: number
  /** Stops after the round in which this time is over (milliseconds). */
  readonly time: number
}

/** Fuzzes both. Rejects with the shrunk requests that show a fault, or if memory has grown. Returns the number of answers. */
export const fuzzReaders = async (readers: Readers, { seed, time }: Options): Promise<number> => {
  const began = Date.now()
  let answered = 0
  for (let round = 0; Date.now() - began < time; round++) {
    for (const reader of ["inbox", "fake"] as const) {
      const sent = array(record({ request: requestOf(reader), cut: integer({ min: 0, max: 19 }) }), {
        minLength: 1,
        maxLength: 16
      })
      const property = FastCheck.asyncProperty(sent, async (all) => {
        const transcripts = await Promise.all(
          all.map(({ cut, request }) =>
            converse(readers.ports[reader], { pieces: [render(request, {})], cut: cut === 0, silence: 100 })
          )
        )
        transcripts.forEach(({ ended, received }, place) => {
          if (!ended) throw new Error(`the ${reader} leaves a connection open`)
          if (all[place]?.cut !== 0) answered += check(reader, received).length
        })
        if (readers.hasEnded()) throw new Error(`the process of the ${reader} has ended: ${readers.stderr()}`)
      })
      const details = await FastCheck.check(property, { seed: seed + round, numRuns: 10 })
      if (details.failed) throw new Error(`${String(details.errorInstance)}\n${JSON.stringify(details.counterexample)}`)
    }
    const { peak, resting } = await readers.measure()
    if (peak - resting > mostMemory) {
      throw new Error(`the readers hold ${megabytes(peak)} of memory, at rest ${megabytes(resting)}`)
    }
  }
  return answered
}

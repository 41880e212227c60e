/** The history checker: known histories, and comparison with trying every order. */
import { describe, expect, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { check, shrink } from "../src/histories/Checker.ts"
import type { Answer, History, Operation, Request } from "../src/histories/History.ts"
import { none } from "../src/Grant.ts"
import * as Specification from "../src/histories/Specification.ts"

const operation = (called: number, returned: number, request: Request, answer?: Answer): Operation => ({
  caller: "a",
  node: "node 1",
  request,
  called,
  returned,
  answer
})

const consent: Request = { kind: "consent" }
const exchange = (code: number, key?: string): Request => ({ kind: "exchange", code, key })
const refresh = (pair: number, key?: string): Request => ({ kind: "refresh", pair, key })
const revoke = (pair: number): Request => ({ kind: "revoke", pair, by: "refresh" })
const bearer = (pair: number): Request => ({ kind: "check", pair })
const pair = (number: number): Answer => ({ status: 200, pair: number })
const status = (status: number): Answer => ({ status })

/** A grant with pair 1, issued for code 1. */
const granted = [operation(0, 1, consent, { status: 303, code: 1 }), operation(2, 3, exchange(1), pair(1))]

const explained: Readonly<Record<string, History>> = {
  "one of two concurrent refreshes is refused": [
    operation(10, 20, refresh(1), pair(2)),
    operation(11, 19, refresh(1), status(401)),
    operation(30, 31, bearer(2), status(200))
  ],
  "a refresh whose outcome is unknown has taken effect": [
    operation(10, 20, refresh(1)),
    operation(30, 31, refresh(1), status(401))
  ],
  "a refresh whose outcome is unknown has not taken effect": [
    operation(10, 20, refresh(1)),
    operation(30, 31, refresh(1), pair(2))
  ],
  "a revocation whose outcome is unknown takes effect after its caller has given up": [
    operation(10, 20, revoke(1)),
    operation(30, 31, bearer(1), status(200)),
    operation(40, 41, bearer(1), status(401))
  ],
  "the retry of an unknown refresh with its key gives the pair, which is live": [
    operation(10, 20, refresh(1, "k")),
    operation(30, 31, refresh(1, "k"), pair(2)),
    operation(40, 41, refresh(1, "k"), pair(2)),
    operation(50, 51, bearer(2), status(200)),
    operation(60, 61, refresh(2), pair(3))
  ],
  "a code that is exchanged twice is refused, and a later exchange supersedes the refresh token of its line": [
    operation(10, 11, exchange(1), status(400)),
    operation(20, 21, bearer(1), status(200)),
    operation(30, 31, consent, { status: 303, code: 2 }),
    operation(40, 41, exchange(2), pair(2)),
    operation(50, 51, refresh(1), status(401)),
    operation(60, 61, bearer(1), status(200)),
    operation(70, 71, bearer(2), status(200))
  ],
  "a refresh token that is two generations old is refused": [
    operation(10, 11, refresh(1), pair(2)),
    operation(20, 21, refresh(2), pair(3)),
    operation(30, 31, refresh(1), status(401)),
    operation(40, 41, refresh(3), pair(4))
  ]
}

const unexplained: Readonly<Record<string, History>> = {
  "one refresh token gives two pairs": [
    operation(10, 20, refresh(1), pair(2)),
    operation(11, 19, refresh(1), pair(3))
  ],
  "a refresh succeeds after a revocation": [
    operation(10, 11, revoke(1), status(200)),
    operation(20, 21, refresh(1), pair(2))
  ],
  "a bearer token is accepted after its revocation": [
    operation(10, 11, revoke(1), status(200)),
    operation(20, 21, bearer(1), status(200))
  ],
  "a revocation whose outcome is unknown takes effect, and then does not": [
    operation(10, 20, revoke(1)),
    operation(30, 31, bearer(1), status(401)),
    operation(40, 41, bearer(1), status(200))
  ],
  "a replaced refresh token ends the grant": [
    operation(10, 11, refresh(1), pair(2)),
    operation(20, 21, refresh(1), status(401)),
    operation(30, 31, refresh(2), status(401))
  ],
  "a code that is exchanged twice ends the access": [
    operation(10, 11, exchange(1), status(400)),
    operation(20, 21, bearer(1), status(401))
  ],
  "a retry with the key gives another pair": [
    operation(10, 11, refresh(1, "k"), pair(2)),
    operation(20, 21, refresh(1, "k"), pair(3))
  ],
  "a refresh is refused and no operation explains it": [operation(10, 11, refresh(1), status(401))],
  "an answer has a status that no rule has": [operation(10, 11, refresh(1), status(500))]
}

/** A small source of random numbers, the same for the same seed. */
const makeRandom = (seed: number) => {
  let state = seed
  return (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * bound)
  }
}

/** A sequential run of the specification, with intervals that overlap, and some outcomes forgotten. */
const randomHistory = (seed: number, length: number): History => {
  const random = makeRandom(seed)
  const history: Array<Operation> = []
  const codes: Array<number> = []
  const pairs: Array<number> = []
  let state = none
  const pick = (known: ReadonlyArray<number>) => known[Math.max(0, known.length - 1 - random(3))]
  for (let at = 0; at < length; at++) {
    const key = random(2) === 0 ? undefined : "k"
    const [code, pair] = [pick(codes), pick(pairs)]
    const requests = [
      consent,
      ...code === undefined ? [] : [exchange(code, key)],
      ...pair === undefined ? [] : [refresh(pair, key), refresh(pair, key), bearer(pair), revoke(pair)]
    ]
    const request = requests[at === 1 ? 1 : random(requests.length)] ?? consent
    const interval = [at - random(30) / 10, at + random(30) / 10] as const
    if (random(6) === 0) {
      if (random(2) === 0) state = Specification.afterUnknown(state, request) ?? state
      history.push(operation(...interval, request))
      continue
    }
    const current = state.current ?? undefined
    const answers: ReadonlyArray<Answer> = [
      { status: 303, code: at },
      { status: 200, pair: at },
      { status: 200, pair: current },
      status(400),
      status(401)
    ]
    const found = answers.find((answer) => Specification.after(state, request, answer) !== undefined)
    if (found === undefined) throw new Error(`no answer to ${JSON.stringify(request)}`)
    const answer = request.kind === "check" || request.kind === "revoke" ? status(found.status) : found
    state = Specification.after(state, request, answer) ?? state
    if (answer.code !== undefined) codes.push(answer.code)
    if (answer.pair !== undefined) pairs.push(answer.pair)
    history.push(operation(...interval, request, answer))
  }
  return history
}

/** Tries every order, without pruning or caching. */
const isExplained = (history: History, state = none): boolean =>
  history.every(({ answer }) => answer === undefined) || history.some((operation) => {
    const { answer, called, request } = operation
    if (history.some((other) => other.answer !== undefined && other.returned < called)) return false
    const next = answer === undefined
      ? Specification.afterUnknown(state, request)
      : Specification.after(state, request, answer)
    return next !== undefined && isExplained(history.filter((other) => other !== operation), next)
  })

/** The same history with another status or pair in one of its responses. */
const damaged = (history: History, seed: number): History => {
  const random = makeRandom(seed)
  const index = random(history.length)
  return history.map((operation, at) =>
    at !== index || operation.answer === undefined ? operation : {
      ...operation,
      answer: random(2) === 0 && operation.answer.pair !== undefined
        ? pair(operation.answer.pair + 1)
        : { status: [200, 400, 401][random(3)] ?? 200 }
    }
  )
}

/** Pairs that are used but were not issued. */
const missing = (history: History): ReadonlyArray<number> => {
  const given = new Set(history.flatMap(({ answer }) => answer?.pair ?? []))
  return history.flatMap(({ request }) => "pair" in request && !given.has(request.pair) ? [request.pair] : [])
}

const seeds = FastCheck.nat(1_000_000_000)

describe("the checker of histories", () => {
  for (const [name, history] of Object.entries(explained)) {
    it(`explains: ${name}`, () => expect(check([...granted, ...history])).toBe("explained"))
  }

  for (const [name, history] of Object.entries(unexplained)) {
    it(`does not explain: ${name}`, () => {
      const counterexample = shrink([...granted, ...history])
      expect(check([...granted, ...history])).toBe("unexplained")
      expect(counterexample.length).toBeLessThanOrEqual(4)
      expect(check(counterexample)).toBe("unexplained")
    })
  }

  it("a run of the specification is explained, with any overlap and any unknown outcomes", () =>
    FastCheck.assert(
      FastCheck.property(seeds, (seed) => {
        expect(check(randomHistory(seed, 24))).toBe("explained")
      }),
      { numRuns: 300 }
    ))

  it("agrees with trying every order, on short histories that are right and wrong", () => {
    let refuted = 0
    FastCheck.assert(
      FastCheck.property(seeds, (seed) => {
        const history = damaged(randomHistory(seed, 7), seed)
        const expected = isExplained(history)
        if (!expected) refuted++
        expect(check(history)).toBe(expected ? "explained" : "unexplained")
      }),
      { numRuns: 500 }
    )
    expect(refuted).toBeGreaterThan(50)
  })

  it("a shrunk history is not explained, and uses only tokens that its operations issue", () => {
    let shrunk = 0
    FastCheck.assert(
      FastCheck.property(seeds, (seed) => {
        const history = damaged(randomHistory(seed, 14), seed)
        if (check(history) !== "unexplained" || missing(history).length > 0) return
        shrunk++
        const counterexample = shrink(history)
        expect(check(counterexample)).toBe("unexplained")
        expect(missing(counterexample)).toEqual([])
      }),
      { numRuns: 200 }
    )
    expect(shrunk).toBeGreaterThan(20)
  })
})

/**
 * The sequential specification of one grant: the rules of `Grant.ts` and of requirements §3.2 and §4.2 to §4.5, written a
 * second time, for histories in which no lifetime and no grace period ends.
 */
import type { Answer, Request } from "./History.ts"

/** Number of a code or pair. None: it was in no response, so no caller knows it. */
type Name = number | null

export interface State {
  /** Pairs since the last revocation, oldest first: the last one has the current refresh token. */
  readonly live: ReadonlyArray<Name>
  /** Pairs that a revocation has ended. */
  readonly dead: ReadonlyArray<number>
  /** The request for the current pair, if it had an `Idempotency-Key`. */
  readonly origin: string | null
  readonly pending: ReadonlyArray<number>
  readonly used: ReadonlyArray<number>
}

/** Before the first consent. */
export const initial: State = { live: [], dead: [], origin: null, pending: [], used: [] }

/** The result of a request. */
interface Outcome {
  readonly status: number
  readonly state: State
}

const revoked = ({ dead, live }: State): State => ({
  ...initial,
  dead: [...dead, ...live.filter((name) => name !== null)].sort((a, b) => a - b)
})

const isNew = ({ dead, live }: State, pair: number | undefined): boolean =>
  pair === undefined || !live.includes(pair) && !dead.includes(pair)

const issue = (state: State, origin: string | null, pair: number | undefined): Outcome | undefined => {
  if (!isNew(state, pair)) return undefined
  const live = [...state.live, pair ?? null]
  // Only of the last two it matters that they are there, even if no caller knows them.
  const kept = live.filter((name, index) => name !== null || index >= live.length - 2)
  return { status: 200, state: { ...state, live: kept, origin } }
}

/** The current pair again, for the same request with the same key. None: that is not the pair of the answer. */
const repeat = (state: State, pair: number | undefined): Outcome | undefined => {
  const current = state.live.at(-1)
  if (pair === undefined || current === pair) return { status: 200, state }
  if (current !== null || !isNew(state, pair)) return undefined
  return { status: 200, state: { ...state, live: [...state.live.slice(0, -1), pair] } }
}

const originOf = (presented: string, key: string | undefined): string | null =>
  key === undefined ? null : `${presented} ${key}`

/**
 * The result of a request in a state. `given` has the numbers of the code or pair in its response, if known. None: the
 * response cannot have these numbers in this state.
 */
const apply = (state: State, request: Request, given: Partial<Answer>): Outcome | undefined => {
  switch (request.kind) {
    case "consent":
      return {
        status: 303,
        state: given.code === undefined ? state : { ...state, pending: [...state.pending, given.code] }
      }
    case "exchange": {
      const { code, key } = request
      const origin = originOf(`code ${code}`, key)
      if (state.pending.includes(code)) {
        const pending = state.pending.filter((other) => other !== code)
        return issue({ ...state, pending, used: [...state.used, code] }, origin, given.pair)
      }
      if (!state.used.includes(code)) return { status: 400, state }
      if (origin !== null && origin === state.origin) return repeat(state, given.pair)
      return { status: 400, state: revoked(state) }
    }
    case "refresh": {
      const { key, pair } = request
      const origin = originOf(`pair ${pair}`, key)
      if (state.live.at(-1) === pair) return issue(state, origin, given.pair)
      if (state.dead.includes(pair)) return { status: 401, state }
      if (!state.live.includes(pair)) return { status: 400, state }
      if (origin !== null && origin === state.origin) return repeat(state, given.pair)
      return { status: 401, state: state.live.at(-2) === pair ? state : revoked(state) }
    }
    case "revoke":
      return { status: 200, state: state.live.includes(request.pair) ? revoked(state) : state }
    case "check":
      return { status: state.live.includes(request.pair) ? 200 : 401, state }
  }
}

/** The state after a request with this response. None: the response is not possible in this state. */
export const after = (state: State, request: Request, answer: Answer): State | undefined => {
  const outcome = apply(state, request, answer)
  return outcome?.status === answer.status ? outcome.state : undefined
}

/** The state after a request with an unknown outcome. */
export const afterUnknown = (state: State, request: Request, given: Partial<Answer> = {}): State | undefined =>
  apply(state, request, given)?.state

/** The rules of one grant as callers of a service observe it, for histories in which no lifetime and no grace period ends. */
import * as Grant from "../Grant.ts"
import type { Answer, Request } from "./History.ts"

/** The number of a pair that was in no response, so that no caller knows it. */
const unknown = -1

/** A status and the grant after it. */
interface Outcome {
  readonly status: number
  readonly grant: Grant.Grant
}

const rename = <A>({ [unknown]: found, ...others }: Readonly<Record<number, A>>, pair: number) =>
  found === undefined ? others : { ...others, [pair]: found }

/** The grant whose unknown current pair has this number. */
const revealed = (grant: Grant.Grant, pair: number): Grant.Grant => ({
  ...grant,
  access: rename(grant.access, pair),
  refresh: rename(grant.refresh, pair),
  current: pair
})

/** None: the response cannot have this pair. `refusal` is the status of a refusal for this reason. */
const withPair = (
  before: Grant.Grant,
  given: number | undefined,
  refusal: (reason: string) => number,
  { grant, pair, result }: Grant.Outcome
): Outcome | undefined => {
  if (result !== "ok") return { status: refusal(result), grant }
  const isNew = given === undefined || !(given in before.refresh)
  if (grant !== before) return isNew ? { status: 200, grant } : undefined
  if (given === undefined || given === pair) return { status: 200, grant }
  return isNew && pair === unknown ? { status: 200, grant: revealed(grant, given) } : undefined
}

/**
 * The result of a request. `given` has the numbers of the code or pair in its response, if known. None: the response cannot
 * have these numbers.
 */
const apply = (grant: Grant.Grant, request: Request, given: Partial<Answer>): Outcome | undefined => {
  const key = "key" in request ? request.key ?? "" : ""
  const asked = { key, pair: given.pair ?? unknown, at: 0, replay: "refuse" } as const
  switch (request.kind) {
    case "consent":
      return { status: 303, grant: given.code === undefined ? grant : Grant.consent(grant, given.code, 0) }
    case "exchange":
      return withPair(grant, given.pair, () => 400, Grant.redeem(grant, request.code, { ...asked, fits: true }))
    case "refresh": {
      const outcome = Grant.refresh(grant, request.pair, { ...asked, isOwner: true })
      return withPair(grant, given.pair, (reason) => reason === "unknown" ? 400 : 401, outcome)
    }
    case "revoke":
      return { status: 200, grant: Grant.revoke(grant, request.by, request.pair, 0) }
    case "check":
      return { status: Grant.accepts(grant, request.pair, 0) ? 200 : 401, grant }
  }
}

/** The grant after a request with this response. None: the response is not possible. */
export const after = (grant: Grant.Grant, request: Request, answer: Answer): Grant.Grant | undefined => {
  const outcome = apply(grant, request, answer)
  return outcome?.status === answer.status ? outcome.grant : undefined
}

/** The grant after a request with an unknown outcome. */
export const afterUnknown = (
  grant: Grant.Grant,
  request: Request,
  given: Partial<Answer> = {}
): Grant.Grant | undefined => apply(grant, request, given)?.grant

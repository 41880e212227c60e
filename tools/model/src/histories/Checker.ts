/**
 * Whether some order of its operations explains a history: the search of Wing and Gong, with the pairs (operations done,
 * state) remembered, as in Porcupine and Knossos. Histories of different grants are checked one by one.
 */
import { type Grant, none } from "../Grant.ts"
import type { History, Operation } from "./History.ts"
import * as Specification from "./Specification.ts"

export type Verdict = "explained" | "unexplained" | "undecided"

/** Maximum number of pairs (operations done, state) that a search looks at: for a verdict, and for each step of a shrinking. */
const maxPairs = 300_000
const maxPairsOfStep = 5000

/** An operation as the search sees it. */
interface Step {
  readonly operation: Operation
  /** Must take effect, with the answer that it had. Otherwise it may take effect or not, and its status is free. */
  readonly isRequired: boolean
  readonly called: number
  /** Takes effect before this. */
  readonly returned: number
}

/** Checks a history in which only the operations in `counted` must be explained. */
const search = (history: History, counted: ReadonlySet<Operation>, limit: number): Verdict => {
  const steps = history
    .map((operation): Step => {
      const isRequired = counted.has(operation)
      return { operation, isRequired, called: operation.called, returned: isRequired ? operation.returned : Infinity }
    })
    // A check of which nothing is known has no effect.
    .filter(({ isRequired, operation }) => isRequired || operation.request.kind !== "check")
    .sort((a, b) => a.returned - b.returned)
  const required = steps.filter(({ isRequired }) => isRequired).length
  const done = steps.map(() => false)
  const seen = new Set<string>()

  const apply = (state: Grant, { isRequired, operation: { answer, request } }: Step) =>
    isRequired && answer !== undefined
      ? Specification.after(state, request, answer)
      : Specification.afterUnknown(state, request, answer)

  const explain = (state: Grant, left: number): boolean => {
    if (left === 0) return true
    const pair = `${done.map(Number).join("")}${JSON.stringify(state)}`
    if (seen.has(pair) || seen.size >= limit) return false
    seen.add(pair)
    const horizon = steps.find(({ isRequired }, index) => isRequired && !done[index])?.returned ?? Infinity
    for (const [index, step] of steps.entries()) {
      if (done[index] || step.called > horizon) continue
      const next = apply(state, step)
      // To do without an operation is as good as one that changes nothing.
      if (next === undefined || !step.isRequired && next === state) continue
      done[index] = true
      const isExplained = explain(next, step.isRequired ? left - 1 : left)
      done[index] = false
      if (isExplained) return true
      // Wherever else in the order: a check changes nothing, so now is as good.
      if (step.operation.request.kind === "check") return false
    }
    return false
  }

  if (explain(none, required)) return "explained"
  return seen.size >= limit ? "undecided" : "unexplained"
}

const answered = (history: History): ReadonlyArray<Operation> => history.filter(({ answer }) => answer !== undefined)

/** Whether the history of one grant is explained. Undecided: the search has become too long. */
export const check = (history: History): Verdict => search(history, new Set(answered(history)), maxPairs)

/** Whether every code and pair that these operations use is given by one of them. */
const isClosed = (operations: ReadonlyArray<Operation>): boolean => {
  const codes = new Set(operations.map(({ answer }) => answer?.code))
  const pairs = new Set(operations.map(({ answer }) => answer?.pair))
  return operations.every(({ request }) =>
    request.kind === "consent" || (request.kind === "exchange" ? codes.has(request.code) : pairs.has(request.pair))
  )
}

/**
 * Few operations of an unexplained history that no order explains, whichever of the others took effect.
 *
 * An operation that is left out counts as one with an unknown outcome. So whatever explains the history explains what
 * is left of it, and what is left unexplained is a counterexample.
 */
export const shrink = (history: History): History => {
  const remains = (operations: ReadonlyArray<Operation>): boolean =>
    isClosed(operations) && search(history, new Set(operations), maxPairsOfStep) === "unexplained"
  const byReturn = [...answered(history)].sort((a, b) => a.returned - b.returned)
  const end = byReturn.findIndex((_, index) => remains(byReturn.slice(0, index + 1)))
  let counted: ReadonlyArray<Operation> = end < 0 ? byReturn : byReturn.slice(0, end + 1)
  for (let size = Infinity; counted.length < size;) {
    size = counted.length
    for (const operation of counted.toReversed()) {
      const without = counted.filter((other) => other !== operation)
      if (remains(without)) counted = without
    }
  }
  return counted
}

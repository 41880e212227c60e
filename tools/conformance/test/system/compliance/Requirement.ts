/** A requirement of an RFC, and its check. */
import type { Profile } from "../support/Sites.ts"
import type { Probe } from "./Probe.ts"

export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "RECOMMENDED"

/** Checks the running service from outside. Rejects with an assertion if the requirement does not hold. */
export type Check = (probe: Probe) => Promise<void>

/** A check with several inputs of one kind: one example proves little. */
export const each =
  <A>(inputs: readonly [A, A, ...ReadonlyArray<A>], check: (probe: Probe, input: A) => Promise<void>): Check =>
  async (probe) => {
    for (const input of inputs) await check(probe, input)
  }

/** A deliberate deviation. */
export interface Deviation {
  readonly reason: string
  /** The behaviour in place of the requirement. */
  readonly instead: Check
}

export type Status =
  | { readonly _tag: "checked"; readonly check: Check; readonly deviations: Partial<Record<Profile, Deviation>> }
  | { readonly _tag: "not applicable"; readonly why: string }
  | { readonly _tag: "elsewhere"; readonly where: string }

export interface Requirement {
  readonly section: string
  readonly level: Level
  /** The requirement in our words. */
  readonly says: string
  readonly status: Status
}

export interface Document {
  readonly name: string
  readonly title: string
  readonly requirements: ReadonlyArray<Requirement>
}

/** Holds in both profiles. */
export const holds = (section: string, level: Level, says: string, check: Check): Requirement => ({
  section,
  level,
  says,
  status: { _tag: "checked", check, deviations: {} }
})

/** Holds except in the named profiles: there the same check must fail, and the other behaviour is checked. */
export const deviates = (
  section: string,
  level: Level,
  says: string,
  check: Check,
  deviations: Partial<Record<Profile, Deviation>>
): Requirement => ({ section, level, says, status: { _tag: "checked", check, deviations } })

/** A deviation in both profiles. */
export const everywhere = (deviation: Deviation): Record<Profile, Deviation> => ({
  documented: deviation,
  rfc: deviation
})

/** Concerns a feature that this interface does not have. */
export const notApplicable = (section: string, level: Level, says: string, why: string): Requirement => ({
  section,
  level,
  says,
  status: { _tag: "not applicable", why }
})

/** Not visible over HTTP, or the operator's task. `where` says what ensures it. */
export const elsewhere = (section: string, level: Level, says: string, where: string): Requirement => ({
  section,
  level,
  says,
  status: { _tag: "elsewhere", where }
})

/** One line of an RFC that concerns this interface, and how it is known to hold. */
import type { Profile } from "../support/Sites.ts"
import type { Probe } from "./Probe.ts"

export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT" | "RECOMMENDED"

/** Looks at the running service from outside; rejects with an assertion if the requirement does not hold. */
export type Check = (probe: Probe) => Promise<void>

/** The requirement is not met on purpose. */
export interface Deviation {
  readonly reason: string
  /** What holds instead. */
  readonly instead: Check
}

export type Status =
  | { readonly _tag: "checked"; readonly check: Check; readonly deviations: Partial<Record<Profile, Deviation>> }
  | { readonly _tag: "not applicable"; readonly why: string }
  | { readonly _tag: "elsewhere"; readonly where: string }

export interface Requirement {
  readonly section: string
  readonly level: Level
  /** In our words. */
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

/** Holds, except in the named profiles: there the same check has to fail, and what holds instead is checked. */
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

/** Is about something that this interface does not have. */
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

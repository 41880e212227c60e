/** The history of a simulation: entries, counts, and the first law that was broken. */
import type { StoreError } from "@startlist/core/Store"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** A law that did not hold. */
export interface Violation {
  /** Its number in `docs/security.md`. */
  readonly law: number
  /** The observation that breaks the law. */
  readonly message: string
  /** Milliseconds since the beginning. */
  readonly at: number
}

/** One entry of a history. */
export interface Entry {
  readonly at: number
  readonly text: string
}

export class History {
  readonly entries: Array<Entry> = []
  readonly counts = new Map<string, number>()
  readonly broken: Deferred.Deferred<Violation | undefined, StoreError>
  violation: Violation | undefined
  readonly now: () => number

  constructor(broken: History["broken"], now: () => number) {
    this.broken = broken
    this.now = now
  }

  record(text: string): void {
    if (this.violation === undefined) this.entries.push({ at: this.now(), text })
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  /** Records a broken law. The first one ends the simulation. */
  violate(law: number, message: string): void {
    if (this.violation !== undefined) return
    this.violation = { law, message, at: this.now() }
    Deferred.unsafeDone(this.broken, Effect.succeed(this.violation))
  }

  check(law: number, holds: boolean, message: string): void {
    if (!holds) this.violate(law, message)
  }
}

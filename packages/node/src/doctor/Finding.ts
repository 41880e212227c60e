/** A finding of the doctor. */
export interface Finding {
  /** Name of the check. */
  readonly what: string
  /** `warning`: check it. `bad`: the service does not work. */
  readonly level: "good" | "warning" | "bad"
  /** Result of the check. Contains no secret. */
  readonly seen: string
  /** Advice to the operator. Empty if there is nothing to do. */
  readonly advice: string
}

export const good = (what: string, seen: string): Finding => ({ what, level: "good", seen, advice: "" })

export const warning = (what: string, seen: string, advice: string): Finding => ({
  what,
  level: "warning",
  seen,
  advice
})

export const bad = (what: string, seen: string, advice: string): Finding => ({ what, level: "bad", seen, advice })

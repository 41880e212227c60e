/** What the doctor says about one thing. */
export interface Finding {
  /** What was looked at. */
  readonly what: string
  /** A `warning` is worth a look; with something `bad` the service does not work. */
  readonly level: "good" | "warning" | "bad"
  /** What was seen. Contains no secret. */
  readonly seen: string
  /** What to do about it; empty where there is nothing to do. */
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

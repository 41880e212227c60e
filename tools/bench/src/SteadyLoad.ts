/** A load at a steady rate: a request begins when it is due, even if earlier ones have no response yet. */
import { setTimeout } from "node:timers/promises"
import { type Latency, latencyOf } from "./Measurement.ts"

/** One kind of request. */
export interface Flow {
  readonly name: string
  readonly perSecond: number
  /** Sends one request. Returns whether the response was correct. */
  readonly call: (due: number) => Promise<boolean>
}

/** One kind of operation in one slice of time. */
export interface Slice {
  readonly latency: Latency
  readonly failed: number
  readonly succeeded: number
}

/** Results of operations, by name and by the slice of time in which they were due. */
export interface Recorder {
  /** Start of the first slice, by `performance.now()`. */
  readonly from: number
  readonly until: number
  /** Records the end of an operation that was due at a time. Includes the time in a queue. */
  readonly ended: (name: string, due: number, isRight: boolean) => void
  readonly slice: (name: string, index: number) => Slice
}

/** Records operations that are due between `from` and the end of the last slice, and omits all others. */
export const makeRecorder = (from: number, slices: number, sliceMillis: number): Recorder => {
  const found = new Map<string, Array<{ readonly samples: Array<number>; failed: number }>>()
  const of = (name: string) => {
    const known = found.get(name)
    if (known !== undefined) return known
    const made = Array.from({ length: slices }, () => ({ samples: [], failed: 0 }))
    found.set(name, made)
    return made
  }
  return {
    from,
    until: from + slices * sliceMillis,
    ended: (name, due, isRight) => {
      const slice = of(name)[Math.floor((due - from) / sliceMillis)]
      if (slice === undefined) return
      if (isRight) slice.samples.push(performance.now() - due)
      else slice.failed++
    },
    slice: (name, index) => {
      const { failed, samples } = of(name)[index] ?? { failed: 0, samples: [] }
      return { failed, succeeded: samples.length, latency: latencyOf(samples) }
    }
  }
}

const drive = async ({ call, name, perSecond }: Flow, began: number, { ended, until }: Recorder): Promise<void> => {
  const inFlight = new Set<Promise<void>>()
  for (let count = 0;; count++) {
    const due = began + count * 1000 / perSecond
    if (due >= until) break
    const wait = Math.ceil(due - performance.now())
    if (wait > 0) await setTimeout(wait)
    const answered = call(due).catch(() => false).then((isRight) => {
      ended(name, due, isRight)
      inFlight.delete(answered)
    })
    inFlight.add(answered)
  }
  await Promise.all(inFlight)
}

/** Sends all requests that are due from now until the end of the last slice, and waits for the responses. */
export const run = async (flows: ReadonlyArray<Flow>, recorder: Recorder): Promise<void> => {
  const began = performance.now()
  await Promise.all(flows.map((flow) => drive(flow, began, recorder)))
}

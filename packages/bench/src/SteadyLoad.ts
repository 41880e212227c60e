/** A load at a steady rate: a request begins when it is due, whether or not earlier ones have been answered. */
import { setTimeout } from "node:timers/promises"
import { type Latency, latencyOf } from "./Measurement.ts"

/** One kind of request. */
export interface Flow {
  readonly name: string
  readonly perSecond: number
  /** Makes one request. Answers whether the answer was what it must be. */
  readonly call: (due: number) => Promise<boolean>
}

/** One kind of operation in one slice of time. */
export interface Slice {
  readonly latency: Latency
  readonly failed: number
  readonly succeeded: number
}

/** What came of operations, by name and by the slice of time in which they were due. */
export interface Recorder {
  /** When the first slice begins, by `performance.now()`. */
  readonly from: number
  readonly until: number
  /** An operation that was due then has ended now. Time in a queue counts. */
  readonly ended: (name: string, due: number, isRight: boolean) => void
  readonly slice: (name: string, index: number) => Slice
}

/** Records operations that are due between `from` and the end of the last slice, and leaves out all others. */
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

/** Makes all requests that are due from now until the end of the last slice, and waits for the answers. */
export const run = async (flows: ReadonlyArray<Flow>, recorder: Recorder): Promise<void> => {
  const began = performance.now()
  await Promise.all(flows.map((flow) => drive(flow, began, recorder)))
}

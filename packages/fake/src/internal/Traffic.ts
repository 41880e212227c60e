/** Requests of the application, on record, and what happens to the answers. */

/** `lost`: done, but the connection ends in place of the answer. `slow`: it comes late. `unavailable`: 503, nothing is done. */
export const responseFaults = ["lost", "slow", "unavailable"] as const
export type ResponseFault = typeof responseFaults[number]

export interface NextResponses {
  readonly fault: ResponseFault
  /** How many. Default: 1. */
  readonly count?: number
  /** Only for requests of this path. Default: any. */
  readonly path?: string
  /** For `slow`, in milliseconds. Default: 3000. */
  readonly delay?: number
}

/** A request of the application. Its secrets are fakes, so nothing is left out. */
export interface RecordedRequest {
  /** In milliseconds since 1970, by the time of the fake. */
  readonly at: number
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The status of the answer, also if it was lost. */
  readonly status: number
  readonly fault?: ResponseFault
}

interface Planned {
  readonly fault: ResponseFault
  readonly path: string | undefined
  readonly delay: number
}

/** The newest requests are kept. */
const maxRecorded = 1000

export const make = () => {
  const recorded: Array<RecordedRequest> = []
  const planned: Array<Planned> = []
  return {
    recorded,
    record: (request: RecordedRequest): void => {
      recorded.push(request)
      if (recorded.length > maxRecorded) recorded.shift()
    },
    next: ({ count = 1, delay = 3000, fault, path }: NextResponses): void => {
      for (let i = 0; i < count; i++) planned.push({ delay, fault, path })
    },
    clear: (): void => void planned.splice(0),
    /** What happens to the answer to this path; each plan is used once. */
    take: (path: string): Planned | undefined => {
      const place = planned.findIndex((one) => one.path === undefined || one.path === path)
      return place < 0 ? undefined : planned.splice(place, 1)[0]
    }
  }
}

export type Traffic = ReturnType<typeof make>

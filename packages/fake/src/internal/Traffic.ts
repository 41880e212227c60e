/** Records requests of the application, and plans faults of the responses. */

/**
 * `lost`: processed, but the connection closes without a response. `slow`: a late response. `unavailable`: 503, not
 * processed.
 */
export const responseFaults = ["lost", "slow", "unavailable"] as const
export type ResponseFault = typeof responseFaults[number]

export interface NextResponses {
  readonly fault: ResponseFault
  /** Number of responses. Default: 1. */
  readonly count?: number
  /** Only for requests of this path. Default: any. */
  readonly path?: string
  /** For `slow`, in milliseconds. Default: 3000. */
  readonly delay?: number
}

/** A request of the application. Its secrets are fakes, so nothing is omitted. */
export interface RecordedRequest {
  /** In milliseconds since 1970, by the time of the fake. */
  readonly at: number
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The status of the response, also of a lost one. */
  readonly status: number
  readonly fault?: ResponseFault
}

interface Planned {
  readonly fault: ResponseFault
  readonly path: string | undefined
  readonly delay: number
}

/** Maximum number of recorded requests. The newest are stored. */
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
    /** Takes the next planned fault for this path. */
    take: (path: string): Planned | undefined => {
      const place = planned.findIndex((one) => one.path === undefined || one.path === path)
      return place < 0 ? undefined : planned.splice(place, 1)[0]
    }
  }
}

export type Traffic = ReturnType<typeof make>

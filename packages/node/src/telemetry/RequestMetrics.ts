/** Metrics of requests: number by route and status, duration, and number by application. */
import { refuse } from "@startlist/http/api/ApiResponse"
import * as Router from "@startlist/http/Router"
import { paths } from "../operator/operations.ts"
import type { Record } from "./RequestLog.ts"
import * as Series from "./Series.ts"

const requests = Series.counter("http_requests_total", "Answered requests", "method", "route", "status")
const durations = Series.histogram(
  "http_request_duration_seconds",
  Series.shortTimes,
  "Time from the complete request to its response",
  "route"
)

const byApplication = Series.counter(
  "application_requests_total",
  "Answered requests of applications that proved their identity: of the busiest, and of all others together",
  "application",
  "status"
)
byApplication.declare("other", "200")

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

const operatorApi = Router.make(
  paths.map((path) => ({ path, methods: {}, refuse })),
  Router.fallback(refuse)
)

/** The route of a path, without identifiers, or `other`: the number of series must be bounded. */
export const routesOf = ({ routeOf }: Router.Router): (path: string) => string => (path) =>
  routeOf(path) ?? operatorApi.routeOf(path) ?? "other"

/** Maximum number of applications with their own series. */
const maxNamed = 20

const minute = 60_000

/**
 * The labels of applications: `client_id`, or `other`. An application that has its own series keeps it, so that no counter
 * goes back. The next one needs half as many requests in a minute again as the one before: 1, 2, 3, 4, 6, … 2 217. So a
 * small installation sees all its applications, and in a large one there is room for one that becomes busy.
 */
export const makeLabels = (now: () => number = () => performance.now()): (id: number) => string => {
  const named = new Map<number, string>()
  const recent = new Map<number, number>()
  let endsAt = 0
  return (id) => {
    const label = named.get(id)
    if (label !== undefined) return label
    if (named.size >= maxNamed) return "other"
    if (now() >= endsAt) {
      recent.clear()
      endsAt = now() + minute
    }
    const count = (recent.get(id) ?? 0) + 1
    recent.set(id, count)
    if (count < 1.5 ** named.size) return "other"
    named.set(id, String(id))
    return String(id)
  }
}

/** Counts and times requests. */
export const makeRecord = (routeOf: (path: string) => string): Record => {
  const known = new Map<string, (seconds: number) => void>()
  const labelOf = makeLabels()
  const find = (method: string, route: string, status: number) => {
    const count = requests.at(methods.has(method) ? method : "other", route, String(status))
    const time = durations.at(route)
    return (seconds: number) => {
      count(1)
      time(seconds)
    }
  }
  return ({ method, path }, { status }, seconds, application) => {
    const route = routeOf(path)
    // A client may send any method. Only the known ones get their own key.
    const key = methods.has(method) ? `${method} ${status} ${route}` : `${status} ${route}`
    let one = known.get(key)
    if (one === undefined) {
      one = find(method, route, status)
      known.set(key, one)
    }
    one(seconds)
    if (application !== undefined) byApplication.update(1, labelOf(application), String(status))
  }
}

/** Metrics of requests: number by route and status, and duration. */
import * as Metric from "effect/Metric"
import { refuse } from "@startlist/http/api/ApiResponse"
import * as Router from "@startlist/http/Router"
import { paths } from "../operator/operations.ts"
import type { Record } from "./RequestLog.ts"
import * as Series from "./Series.ts"

const requests = Series.make(
  Metric.counter(`${Series.prefix}http_requests_total`, { description: "Answered requests" }),
  "method",
  "route",
  "status"
)
const durations = Series.make(
  Metric.histogram(
    `${Series.prefix}http_request_duration_seconds`,
    Series.shortTimes,
    "Time from the complete request to its response"
  ),
  "route"
)

const methods = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

const operatorApi = Router.make(
  paths.map((path) => ({ path, methods: {}, refuse })),
  Router.fallback(refuse)
)

/** The route of a path, without identifiers, or `other`: the number of series must be bounded. */
export const routesOf = ({ routeOf }: Router.Router): (path: string) => string => (path) =>
  routeOf(path) ?? operatorApi.routeOf(path) ?? "other"

/** Counts and times requests. */
export const makeRecord = (routeOf: (path: string) => string): Record => {
  const known = new Map<string, (seconds: number) => void>()
  const find = (method: string, route: string, status: number) => {
    const count = requests.at(methods.has(method) ? method : "other", route, String(status))
    const time = durations.at(route)
    return (seconds: number) => {
      count(1)
      time(seconds)
    }
  }
  return ({ method, path }, { status }, seconds) => {
    const route = routeOf(path)
    // A client may send any method. Only the known ones get their own key.
    const key = methods.has(method) ? `${method} ${status} ${route}` : `${status} ${route}`
    let one = known.get(key)
    if (one === undefined) {
      one = find(method, route, status)
      known.set(key, one)
    }
    one(seconds)
  }
}

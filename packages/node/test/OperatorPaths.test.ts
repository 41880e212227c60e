/** The paths of the operator API: routes in metrics, logs and traces, and the one without a timeout. */
import { OpenApi } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Router } from "@startlist/http"
import { refuse } from "@startlist/http/api/ApiResponse"
import { OperatorApi } from "@startlist/node"
import { Redacted } from "effect"
import * as Requests from "../src/telemetry/RequestMetrics.ts"
import { isBackup } from "../src/operator/OperatorToken.ts"
import { paths } from "../src/operator/Paths.ts"

const routeOf = Requests.routesOf(Router.make([], Router.fallback(refuse)))

it("every operation has its path as its route", () => {
  const described = Object.keys(OpenApi.fromApi(OperatorApi.Api).paths).sort()
  expect(described.map((path) => routeOf(path.replaceAll(/\{\w+\}/g, "7")))).toEqual(described)
  expect(paths.toSorted()).toEqual(described)
})

it("any other path has the route other", () => {
  for (const path of ["/operator/", "/operator/v1/nothing", "/operator/v1/users/7/nothing", "/operator/v2/users"]) {
    expect(routeOf(path)).toBe("other")
  }
})

it("only a backup with the operator token has no timeout", () => {
  const isUntimed = isBackup(Redacted.make("token"))
  const request = (path: string, authorization: string) => ({
    method: "POST",
    path,
    query: "",
    headers: { authorization },
    body: new Uint8Array(),
    address: "192.0.2.1"
  })
  const untimed = paths.filter((path) => isUntimed(request(path, "Bearer token")))
  expect(untimed).toEqual(["/operator/v1/backups"])
  expect(isUntimed(request("/operator/v1/backups", "Bearer other"))).toBe(false)
})

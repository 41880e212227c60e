/** The paths of the operator API: routes in metrics, logs and traces, and the one without a timeout. */
import { OpenApi } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Router } from "@startlist/http"
import { refuse } from "@startlist/http/api/ApiResponse"
import { Redacted } from "effect"
import * as Requests from "../src/telemetry/RequestMetrics.ts"
import { Api } from "../src/operator/openApi.ts"
import { paths } from "../src/operator/operations.ts"
import { isUntimed } from "../src/operator/OperatorApi.ts"

const routeOf = Requests.routesOf(Router.make([], Router.fallback(refuse)))

it("every operation has its path as its route", () => {
  const described = Object.keys(OpenApi.fromApi(Api).paths).sort()
  expect(described.map((path) => routeOf(path.replaceAll(/\{\w+\}/g, "7")))).toEqual(described)
  expect(paths.toSorted()).toEqual(described)
})

it("any other path has the route other", () => {
  for (const path of ["/operator/", "/operator/v1/nothing", "/operator/v1/users/7/nothing", "/operator/v2/users"]) {
    expect(routeOf(path)).toBe("other")
  }
})

it("only a backup with the operator token has no timeout", () => {
  const isBackup = isUntimed(Redacted.make("token"))
  const request = (path: string, authorization: string) => ({
    method: "POST",
    path,
    query: "",
    headers: { authorization },
    body: new Uint8Array(),
    address: "192.0.2.1"
  })
  const untimed = paths.filter((path) => isBackup(request(path, "Bearer token")))
  expect(untimed).toEqual(["/operator/v1/backups"])
  expect(isBackup(request("/operator/v1/backups", "Bearer other"))).toBe(false)
})

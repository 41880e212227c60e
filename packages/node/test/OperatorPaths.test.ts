/** The routes of the operator API in metrics, logs and traces. */
import { OpenApi } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Router } from "@startlist/http"
import { refuse } from "@startlist/http/api/ApiResponse"
import { OperatorApi } from "@startlist/node"
import * as Requests from "../src/metrics/Requests.ts"
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

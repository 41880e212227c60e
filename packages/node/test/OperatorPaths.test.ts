/** The paths of the operator API: routes in metrics, logs and traces, and the one without a timeout. */
import { OpenApi } from "@effect/platform"
import { expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import { OperatorApi } from "../src/description/OpenApiDocument.ts"
import { paths } from "../src/operator/operations.ts"
import { isUntimed, routeOf } from "../src/operator/OperatorApi.ts"

it("every operation has its path as its route", () => {
  const described = Object.keys(OpenApi.fromApi(OperatorApi).paths).sort()
  expect(described.map((path) => routeOf(path.replaceAll(/\{\w+\}/g, "7")))).toEqual(described)
  expect(paths.toSorted()).toEqual(described)
})

it("any other path has no route", () => {
  for (const path of ["/operator/", "/operator/v1/nothing", "/operator/v1/users/7/nothing", "/operator/v2/users"]) {
    expect(routeOf(path)).toBeUndefined()
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

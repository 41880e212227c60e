import { describe, expect, it } from "@effect/vitest"
import { shownPath } from "../src/telemetry/RequestLog.ts"

describe("the path of a request in logs, traces and the audit", () => {
  it("is unchanged if it could be one of our paths", () => {
    for (
      const path of [
        "/",
        "/oauth/token",
        "/developer/applications/12/deliveries/345",
        "/assets/pages.5ae086eb3135b4a1.css"
      ]
    ) {
      expect(shownPath(path)).toBe(path)
    }
  })

  it("contains no parameters that were sent in it by mistake, and no token", () => {
    expect(shownPath("/login&code=sl_ac_secret")).toBe("/login…")
    expect(shownPath("/oauth/token%3Fclient_secret=secret")).toBe("/oauth/token…")
    expect(shownPath(`/api/v1/athlete/sl_at_${"x".repeat(43)}/more`)).toBe("/api/v1/athlete/…/more")
  })

  it("contains no part of an e-mail address", () => {
    for (
      const address of [
        "ada.lovelace@example.org",
        "ada%40example.org",
        "ada%2Bx%40example.org",
        "ada+x@example.org/export"
      ]
    ) {
      expect(shownPath(`/operator/v1/users/${address}`)).toBe("/operator/v1/users/…")
    }
  })
})

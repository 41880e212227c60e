/** Which applications have their own series among the counters of requests. */
import { expect, it } from "vitest"
import { makeLabels } from "../src/telemetry/RequestMetrics.ts"

/** Labels of applications on a clock of the test, and how many of them have their own. */
const make = () => {
  let now = 0
  const own = new Set<string>()
  const labelOf = makeLabels(() => now)
  return {
    own,
    wait: (millis: number) => {
      now += millis
    },
    /** Sends requests. Returns the label of the last one. */
    send: (id: number, count = 1): string => {
      let label = ""
      for (let i = 0; i < count; i++) label = labelOf(id)
      if (label !== "other") own.add(label)
      return label
    }
  }
}

it("each of a few applications has its own series soon, and keeps it", () => {
  const { send, wait } = make()
  expect(send(1)).toBe("1")
  expect([1, 2, 3, 4, 5].map((id) => send(id, 6))).toEqual(["1", "2", "3", "4", "5"])
  wait(86_400_000)
  expect([5, 4, 3, 2, 1].map((id) => send(id))).toEqual(["5", "4", "3", "2", "1"])
})

it("of many applications, one that becomes busy still gets its own series", () => {
  const { own, send, wait } = make()
  for (let minute = 0; minute < 60; minute++) {
    for (let id = 1; id <= 100; id++) send(id, 20)
    wait(60_000)
  }
  expect(own.size).toBe(8)
  expect(send(999, 500)).toBe("999")
})

it("at most twenty applications have their own series", () => {
  const { own, send } = make()
  for (let id = 1; id <= 50; id++) send(id, 3000)
  expect([own.size, send(50)]).toEqual([20, "other"])
})

/** The dispatcher loads its HTTP client with its first request. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { coldDispatcher, expectAnswered, post, responding } from "./Receivers.ts"

const all = (count: number, numbers: ReadonlyArray<number>): Promise<void> =>
  expect.poll(() => numbers.length).toBe(count)

describe("the first requests", () => {
  it.scopedLive("all arrive, except those that are cancelled before the client is loaded", () =>
    Effect.gen(function*() {
      const { begin, deliver } = yield* coldDispatcher()
      const arrived: Array<string> = []
      const receiver = yield* responding(({ headers }, response) => {
        arrived.push(String(headers["webhook-id"]))
        response.end()
      })
      const statuses: Array<number> = []
      const cancels = ["a", "b", "c"].map((id) =>
        begin?.(post(receiver.url, { id }), (answer) => statuses.push(expectAnswered(answer, 200).status))
      )
      cancels[1]?.()
      yield* Effect.promise(() => all(2, statuses))
      yield* deliver(post(receiver.url, { id: "d" }))
      expect(arrived.sort()).toEqual(["a", "c", "d"])
      expect(statuses).toEqual([200, 200])
    }))

  it.scopedLive("wait for it again after an interruption", () =>
    Effect.gen(function*() {
      const { deliver } = yield* coldDispatcher()
      const receiver = yield* responding((_, response) => void response.end())
      yield* Effect.timeout(deliver(post(receiver.url)), 0).pipe(Effect.ignore)
      expectAnswered(yield* deliver(post(receiver.url)), 200)
    }))
})

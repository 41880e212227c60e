import { Socket } from "node:net"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { makeDeadlines } from "../src/internal/incoming.ts"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it("each request of a connection has its own time, whatever the ones before it had", () => {
  const socket = new Socket()
  const deadlineOf = makeDeadlines()
  const late: Array<string> = []
  const began = new Map<string, () => void>()
  const begin = (name: string, millis: number) => {
    const onTime = () => late.push(name)
    began.set(name, onTime)
    deadlineOf(socket).begin(millis, onTime)
  }
  const end = (name: string) => deadlineOf(socket).end(began.get(name) ?? (() => {}))

  begin("first", 100)
  vi.advanceTimersByTime(70)
  end("first")
  begin("second", 100)
  vi.advanceTimersByTime(70)
  end("second")
  begin("with a longer time", 10_000)
  vi.advanceTimersByTime(9000)
  end("with a longer time")
  vi.advanceTimersByTime(5000)
  begin("with a longer time again", 10_000)
  end("with a longer time again")
  begin("late", 100)
  end("first")
  vi.advanceTimersByTime(99)
  expect(late).toEqual([])
  vi.advanceTimersByTime(2)
  expect(late).toEqual(["late"])
  begin("last", 100)
  socket.emit("close")
  expect(vi.getTimerCount()).toBe(0)
})

import { describe, expect, it } from "vitest"
import * as Runtime from "../../src/Runtime.ts"

describe("Versions of Node", () => {
  const options = [{ name: "ours", role: "ours" }, { name: "fast", role: "peer" }, {
    name: "bare",
    role: "limit"
  }] as const
  const present = `Node ${process.version}`

  it("run ours and the limits on both, and the peers on the newest", () => {
    const newest = Runtime.newest().name
    const placed = Runtime.place(options).map(({ name }) => name)
    const both = present === newest ? [present] : [present, newest]
    expect(placed).toEqual(expect.arrayContaining(both.flatMap((version) => [`ours, ${version}`, `bare, ${version}`])))
    expect(placed.filter((name) => name.startsWith("fast"))).toEqual([`fast, ${newest}`])
  })

  it("compare ours with a limit on the same version, and with a peer on the newest", () => {
    const newest = Runtime.newest().name
    const goals = Runtime.goals(options, [{ than: "bare", atLeast: 1 }, { than: "fast", atLeast: 1 }])
    expect(goals).toContainEqual({ of: `ours, ${present}`, than: `bare, ${present}`, atLeast: 1 })
    expect(goals).toContainEqual({ of: `ours, ${newest}`, than: `bare, ${newest}`, atLeast: 1 })
    expect(goals).toContainEqual({ of: `ours, ${present}`, than: `fast, ${newest}`, atLeast: 1 })
  })
})

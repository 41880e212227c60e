import { describe, expect, it } from "vitest"
import * as Contender from "../../src/Contender.ts"
import * as Load from "../../src/Load.ts"
import { asking, refreshing } from "../../src/Protocol.ts"

/** A few hundred calls, which are not a measurement. */
const few = { isQuick: true, rounds: 1, seconds: 0.2, warmUpCalls: 100, warmUpSeconds: 5 }

const servers = [
  { name: "Startlist", program: "Startlist", args: ["memory"] },
  { name: "@node-oauth, bare", program: "NodeOauth", args: ["bare"] },
  { name: "@node-oauth, Express", program: "NodeOauth", args: ["express"] },
  { name: "@jmondi", program: "Jmondi", args: [] },
  { name: "oidc-provider", program: "OidcProvider", args: [] }
]

describe("The compared servers in memory", () => {
  for (const { args, name, program } of servers) {
    it(`${name} does the work: it refuses invalid requests, and all its responses under load are correct`, async () => {
      await Contender.serving({ role: "peer", program, args }, async ({ ready }) => {
        // In this order: a grant keeps its twenty newest access tokens, and many refreshes remove the first one.
        for (const conversations of [asking(ready), refreshing(ready)]) {
          const { perSecond } = await Load.run(ready.port, conversations, few)
          expect(perSecond).toBeGreaterThan(0)
        }
      })
    })
  }

  it("a server that accepts everything is not measured", async () => {
    const raw = Contender.serving({ role: "peer", program: "Raw", args: [] }, async () => {})
    await expect(raw).rejects.toThrow("a wrong secret: 200")
  })
})

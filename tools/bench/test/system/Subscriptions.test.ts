import { afterAll, describe, expect, it } from "vitest"
import * as Cleanup from "../../src/Cleanup.ts"
import * as Database from "../../src/Database.ts"
import * as Subscriptions from "../../src/Subscriptions.ts"

afterAll(Cleanup.run)

describe("The contents for benchmarks of deliveries", () => {
  it("fit the present tables", async () => {
    const database = await Database.fresh()
    await Subscriptions.fill(5, 3, { ended: 6, pending: 9 })(database)
    const counted = await database.query(
      "SELECT state, count(*)::integer FROM startlist_deliveries GROUP BY 1 ORDER BY 1"
    )
    expect(counted).toEqual([{ state: "d", count: 6 }, { state: "p", count: 9 }])
    await database.drop()
  })
})

/** The quick groups of laws. The system tier runs all of them, with other test runners and with none. */
import { StoreLaws } from "@startlist/testing"
import { describeSuite } from "@startlist/testing/vitest"
import * as OwnStores from "../src/OwnStores.ts"

const stores = OwnStores.layerWith({ filename: ":memory:", key: new Uint8Array(32).fill(7) })
const slow = ["all or nothing", "races", "races with an erasure", "random programs"]

describeSuite(StoreLaws.suite("stores on SQLite", stores, { groups: (about) => !slow.includes(about) }))

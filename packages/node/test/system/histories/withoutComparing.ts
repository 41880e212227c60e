/** The service with a planted fault: it saves a grant without comparing versions. */
import { decode } from "@startlist/node/settings/Configuration"
import * as Service from "@startlist/node/Service"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import * as Pg from "pg"

const comparison = "AND g.version = i.version - 1"

// Each statement is prepared once by its text, which goes through here.
const query = Pg.Client.prototype.query
Object.assign(Pg.Client.prototype, {
  query(this: Pg.Client, config: unknown, ...rest: ReadonlyArray<unknown>): unknown {
    const isStatement = typeof config === "object" && config !== null && "text" in config &&
      typeof config.text === "string"
    const changed = isStatement ? { ...config, text: String(config.text).replace(comparison, "") } : config
    return Reflect.apply(query, this, [changed, ...rest])
  }
})

NodeRuntime.runMain(Effect.flatMap(decode(process.env, false), Service.run))

import { createRequire } from "node:module"
import * as Schema from "effect/Schema"

const Package = Schema.Struct({ version: Schema.String })

/** Version of this program, as its package has it. */
export const { version } = Schema.decodeUnknownSync(Package)(
  createRequire(import.meta.url)("@startlist/node/package.json")
)

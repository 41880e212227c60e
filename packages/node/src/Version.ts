import { createRequire } from "node:module"
import * as Schema from "effect/Schema"

const Package = Schema.Struct({ version: Schema.String })

/** Version of this package. */
export const { version } = Schema.decodeUnknownSync(Package)(
  createRequire(import.meta.url)("@startlist/node/package.json")
)

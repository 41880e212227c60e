/** Runs before each test file. */
import { makeMethods } from "@effect/vitest"
import { it } from "vitest"

// `layer` of @effect/vitest replaces `it.effect` and `it.scoped` for the whole process, which other files share.
makeMethods(Object.assign(it, { scopedFixtures: it.scoped }))

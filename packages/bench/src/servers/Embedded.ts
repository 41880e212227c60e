/** Over the embedded database, with durable writes, in a folder that is thrown away. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedDatabase from "@startlist/postgres/Embedded"
import * as Seal from "@startlist/postgres/Seal"
import { Layer, Redacted } from "effect"
import { serve } from "./Prepared.ts"

const folder = mkdtempSync(join(tmpdir(), "startlist-bench-"))
process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
process.once("SIGTERM", () => process.exit())

const seal = Seal.layerWith({ key: Redacted.make(randomBytes(32).toString("base64")) })

serve(EmbeddedDatabase.layerWith({ folder: join(folder, "data") }).pipe(Layer.provide(seal)))

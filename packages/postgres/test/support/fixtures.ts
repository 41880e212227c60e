/** What the tests of the stores start from. */
import { Seal } from "@startlist/postgres"
import { Layer, Redacted } from "effect"

/** 32 bytes, not secret. */
export const masterKey = Redacted.make(Buffer.alloc(32, 7).toString("base64"))

export const seal: Layer.Layer<Seal.Seal> = Seal.layerWith({ key: masterKey }).pipe(Layer.orDie)

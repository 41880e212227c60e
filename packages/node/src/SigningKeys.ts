/** Keys that sign cookies and links, one per purpose. */
import { hkdfSync } from "node:crypto"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Redacted from "effect/Redacted"
import type { MasterKeys } from "./internal/setting.ts"

/** The first key signs. All of them verify. */
export type Keys = NonEmptyReadonlyArray<Uint8Array>

/** Derives one signing key from each master key (RFC 5869). */
export const keysFrom = ([first, ...others]: MasterKeys, purpose: string): Keys => {
  const derive = (master: Redacted.Redacted<string>) =>
    new Uint8Array(hkdfSync("sha256", Buffer.from(Redacted.value(master), "base64"), "", `startlist ${purpose}`, 32))
  return [derive(first), ...others.map(derive)]
}

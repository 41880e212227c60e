/** The two secrets of an installation: from the environment, or generated once and stored in the data folder. */
import { randomBytes } from "node:crypto"
import { link, open, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Secrets from "@startlist/core/Secrets"
import * as Folder from "@startlist/postgres/Folder"
import { type Configuration, InvalidConfiguration } from "../settings/Configuration.ts"
import * as Setting from "../settings/Setting.ts"

/** The secrets, from wherever they come. */
export interface Keys {
  /** The bearer token of the operator API. */
  readonly operatorToken: Redacted.Redacted<string>
  /** Each 32 bytes in base64. The first seals webhook signing secrets; all of them can open sealed secrets. */
  readonly masterKeys: Setting.MasterKeys
}

/** File of a generated master key. */
export const masterKeyFile = (dataDir: string): string => join(dataDir, "master-key")

/** File of a generated operator token. */
export const operatorTokenFile = (dataDir: string): string => join(dataDir, "operator-token")

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code

const whyNot = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** Writes a file under another name and links it into place: a crash must not leave half a file. */
const createOnce = async (path: string, content: string): Promise<void> => {
  const draft = `${path}.${randomBytes(8).toString("hex")}`
  const file = await open(draft, "wx", 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
    await link(draft, path).catch((error) => hasCode(error, "EEXIST") ? undefined : Promise.reject(error))
  } finally {
    await file.close()
    await rm(draft, { force: true })
  }
}

const readOrCreate = async (path: string, make: () => string): Promise<string> => {
  const read = () => readFile(path, "utf8").then((text) => text.trim())
  try {
    return await read()
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error
    await createOnce(path, `${make()}\n`)
    return await read()
  }
}

const kept = <A>(
  dataDir: string,
  name: string,
  make: () => string,
  kind: Setting.Kind<A>
): Effect.Effect<A, InvalidConfiguration> =>
  Effect.tryPromise({
    try: async () => {
      await Folder.make(dataDir)
      return await readOrCreate(join(dataDir, name), make)
    },
    catch: (error) => new InvalidConfiguration({ message: `DATA_DIR: ${whyNot(error)}` })
  }).pipe(Effect.flatMap((text) => {
    const parsed = kind.read(text)
    return parsed === undefined
      ? new InvalidConfiguration({ message: `DATA_DIR: the file ${join(dataDir, name)} is damaged or too short` })
      : Effect.succeed(parsed)
  }))

/** The master keys as the core names them. */
export const masterKeysOf = ({ masterKeys: [key, ...retired] }: Keys): Secrets.MasterKeys => ({ key, retired })

/** The keys of this installation. The first start generates those that the environment does not set. */
export const load = (configuration: Configuration): Effect.Effect<Keys, InvalidConfiguration> => {
  const { dataDir, masterKeys, operatorToken } = configuration
  return Effect.all({
    operatorToken: Option.match(operatorToken, {
      onSome: Effect.succeed,
      onNone: () =>
        kept(dataDir, "operator-token", () => `sl_op_${randomBytes(32).toString("base64url")}`, Setting.bearerToken)
    }),
    masterKeys: Option.match(masterKeys, {
      onSome: Effect.succeed,
      onNone: () => kept(dataDir, "master-key", () => randomBytes(32).toString("base64"), Setting.masterKeys)
    })
  })
}

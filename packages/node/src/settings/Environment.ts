/** The variables of the environment: those that are nearly settings, and those that name files of secrets. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"
import { distance } from "fastest-levenshtein"
import * as Setting from "./Setting.ts"

/** A variable, and the setting that is probably meant. */
export interface Misspelt {
  readonly given: string
  readonly meant: string
}

/** Maximum edit distance. Short names are near to many others: HOME is not HOST. */
const tolerance = (name: string): number => name.length > 6 ? 2 : 1

/** Variables whose names are nearly those of settings, in the order of their names. */
export const findMisspelt = (
  variables: Iterable<string>,
  settings: ReadonlySet<string>
): ReadonlyArray<Misspelt> => {
  const given = new Set(variables)
  const open = [...settings].filter((name) => !given.has(name))
  return [...given].filter((name) => !settings.has(name)).sort().flatMap((name) => {
    const meant = open.find((setting) => distance(name.toUpperCase(), setting) <= tolerance(setting))
    return meant === undefined ? [] : [{ given: name, meant }]
  })
}

/** Secrets that container platforms provide as files: `DATABASE_URL_FILE` names the file of `DATABASE_URL`. */
const secrets = ["DATABASE_URL", "MASTER_KEY", "OPERATOR_TOKEN"] as const

/** The variables that name files of secrets. */
export const fileSettings: ReadonlyArray<Setting.Setting<unknown>> = secrets.map((name) =>
  Setting.optional(
    `${name}_FILE`,
    Setting.path,
    "none",
    `A file with the secret, instead of \`${name}\`. One newline at its end is ignored. If the file is empty or cannot be read, the start stops.`
  )
)

/** The code of an error of the file system. */
export const whyNot = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "it is not readable"

/** Reads a secret without the newline at its end, which editors and `echo` add. */
const readSecret = (variable: string, path: string): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => `${variable}: the file ${path} cannot be read (${whyNot(error)})`
  }).pipe(
    Effect.map((text) => text.replace(/\r?\n$/, "")),
    Effect.filterOrFail((text) => text.trim() !== "", () => `${variable}: the file ${path} is empty`)
  )

/** Replaces the name of each file by its content. Fails if a secret is set twice, or a file is missing or empty. */
export const readFiles = (
  variables: ReadonlyMap<string, string>
): Effect.Effect<ReadonlyMap<string, string>, string> =>
  Effect.gen(function*() {
    const resolved = new Map(variables)
    for (const name of secrets) {
      const variable = `${name}_FILE`
      const path = variables.get(variable)
      if (path === undefined) continue
      if (variables.has(name)) return yield* Effect.fail(`${variable}: ${name} is set too. Remove one of them.`)
      resolved.set(name, yield* readSecret(variable, path))
    }
    return resolved
  })

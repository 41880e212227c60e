/** Secrets in files, as container platforms provide them: `DATABASE_URL_FILE` names the file of `DATABASE_URL`. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"

const secrets = ["DATABASE_URL", "MASTER_KEY", "OPERATOR_TOKEN"] as const

/** The variables that name files. */
export const names: ReadonlyArray<string> = secrets.map((name) => `${name}_FILE`)

const whyNot = (error: unknown): string =>
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
export const resolve = (
  variables: ReadonlyMap<string, string>
): Effect.Effect<Map<string, string>, string> =>
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

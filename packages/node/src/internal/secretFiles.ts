/** Secrets in files, as container platforms hand them out: `DATABASE_URL_FILE` names the file of `DATABASE_URL`. */
import { readFile } from "node:fs/promises"
import * as Effect from "effect/Effect"

const secrets = ["DATABASE_URL", "MASTER_KEY", "OPERATOR_TOKEN"] as const

/** The variables that name files. */
export const names: ReadonlyArray<string> = secrets.map((name) => `${name}_FILE`)

const whyNot = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "it is not readable"

/** Without the newline at the end that editors and `echo` add. */
const readSecret = (variable: string, path: string): Effect.Effect<string, string> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => `${variable}: the file ${path} cannot be read (${whyNot(error)})`
  }).pipe(
    Effect.map((text) => text.replace(/\r?\n$/, "")),
    Effect.filterOrFail((text) => text.trim() !== "", () => `${variable}: the file ${path} is empty`)
  )

/**
 * The variables with the content of each file in the place of its name. Fails with a line if a secret is given twice,
 * or a file is missing or empty.
 */
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

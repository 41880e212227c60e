/** Importing vitest fails here. */
import { register } from "node:module"

const hook = `export const resolve = (specifier, context, next) => {
  if (specifier.startsWith("vitest") || specifier.startsWith("@effect/vitest")) throw new Error("imported here: " + specifier + " from " + context.parentURL)
  return next(specifier, context)
}`

register(`data:text/javascript,${encodeURIComponent(hook)}`)

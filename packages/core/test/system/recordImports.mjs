/** `node --import ./recordImports.mjs`: says on standard error what is imported by whom, one JSON array a line. */
import { register } from "node:module"

const hooks = `
import { writeSync } from "node:fs"
export const resolve = async (specifier, context, next) => {
  const resolved = await next(specifier, context)
  writeSync(2, JSON.stringify([context.parentURL ?? "", resolved.url]) + "\\n")
  return resolved
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)

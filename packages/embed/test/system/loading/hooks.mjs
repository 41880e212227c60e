/** Writes the address of every module that is loaded, one on each line, to the file that `LOADED` names. */
import { appendFileSync } from "node:fs"
import { register } from "node:module"

const hooks = `
  import { appendFileSync } from "node:fs"
  export const load = (url, context, next) => {
    appendFileSync(process.env.LOADED, url + "\\n")
    return next(url, context)
  }
`

appendFileSync(process.env.LOADED, "")
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

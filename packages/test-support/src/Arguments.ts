/** The arguments of a script: what is wrong with them ends it with one line and status 1. */
import { parseArgs, type ParseArgsConfig } from "node:util"

/** Says why the script cannot do what was asked, and ends it. */
export const refuse = (why: string): never => {
  console.error(why)
  process.exit(1)
}

/** `parseArgs` of Node on the arguments of this process. */
export const parse = <const Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> => {
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

/** The value of an option that is a number, `atLeast` so much. */
export const number = (option: string, value: string, atLeast = 0): number => {
  const parsed = value.trim() === "" ? NaN : Number(value)
  return Number.isFinite(parsed) && parsed >= atLeast
    ? parsed
    : refuse(`--${option} must be a number of at least ${atLeast}, and is "${value}"`)
}

/** The same for whole numbers. */
export const integer = (option: string, value: string, atLeast = 0): number => {
  const parsed = number(option, value, atLeast)
  return Number.isSafeInteger(parsed) ? parsed : refuse(`--${option} must be a whole number, and is "${value}"`)
}

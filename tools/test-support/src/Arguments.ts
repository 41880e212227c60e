/** The arguments of a script. A wrong argument ends the script with one line and status 1. */
import { parseArgs, type ParseArgsConfig } from "node:util"

/** Prints why the script cannot run, and ends it. */
export const refuse = (why: string): never => {
  console.error(why)
  process.exit(1)
}

/** Parses the arguments of this process with `parseArgs` of Node. */
export const parse = <const Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> => {
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

/** The value of an option that is a number of at least `atLeast`. */
export const number = (option: string, value: string, atLeast = 0): number => {
  const parsed = value.trim() === "" ? NaN : Number(value)
  return Number.isFinite(parsed) && parsed >= atLeast
    ? parsed
    : refuse(`--${option} must be a number of at least ${atLeast}, and is "${value}"`)
}

/** The same for an integer. */
export const integer = (option: string, value: string, atLeast = 0): number => {
  const parsed = number(option, value, atLeast)
  return Number.isSafeInteger(parsed) ? parsed : refuse(`--${option} must be a whole number, and is "${value}"`)
}

/** The same for one of these words. */
export const oneOf = <const Word extends string>(option: string, value: string, ...words: ReadonlyArray<Word>): Word =>
  words.find((word) => word === value) ?? refuse(`--${option} must be ${words.join(" or ")}, and is "${value}"`)

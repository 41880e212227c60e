/** Checks of plain values, for callers without types. A check describes the first fault, with the name of the value. */

/** Describes the fault of a value of this name, if there is one. It never contains the value, which may be a secret. */
export type Check = (given: unknown, name: string) => string | undefined

/** A value for which `holds`; it must be what `message` says. */
export const value = (message: string, holds: (given: unknown) => boolean): Check => (given, name) =>
  holds(given) ? undefined : `${name}: must be ${message}`

/** Text for which `holds`. */
export const text = (message: string, holds: (text: string) => boolean = () => true): Check =>
  value(message, (given) => typeof given === "string" && holds(given))

/** An integer of at least `least`. */
export const integer = (least: number): Check =>
  value(`an integer of at least ${least}`, (given) => Number.isSafeInteger(given) && Number(given) >= least)

export const flag = value("true or false", (given) => typeof given === "boolean")

export const callable = value("a function", (given) => typeof given === "function")

export const oneOf = (...known: ReadonlyArray<unknown>): Check =>
  value(
    known.map((one) => JSON.stringify(one)).join(", ").replace(/, ([^,]*)$/, " or $1"),
    (given) => known.includes(given)
  )

/** An array whose items pass. */
export const list = (item: Check): Check => (given, name) =>
  Array.isArray(given)
    ? given.map((one, index) => item(one, `${name}[${index}]`)).find((wrong) => wrong !== undefined)
    : `${name}: must be an array`

/** An object whose values pass. */
export const record = (item: Check): Check => (given, name) =>
  isObject(given)
    ? Object.entries(given).map(([key, one]) => item(one, `${name}.${key}`)).find((wrong) => wrong !== undefined)
    : `${name}: must be an object`

const isObject = (given: unknown): given is object =>
  typeof given === "object" && given !== null && !Array.isArray(given)

/** The check of each field of `Given`. */
export type Fields<Given> = { readonly [Name in keyof Required<Given>]: Check }

/** The name of a field. The options themselves have no name. */
const below = (name: string, field: string): string => name === "options" ? field : `${name}.${field}`

/** An object with these fields. Those in `required` must be there; `undefined` counts as missing. */
export const shape = <Given>(fields: Fields<Given>, ...required: ReadonlyArray<keyof Given & string>): Check => {
  const checks = Object.entries<Check>(fields)
  const needed = new Set<string>(required)
  return (given, name) => {
    if (!isObject(given)) return `${name}: must be an object`
    const values: Partial<Record<string, unknown>> = { ...given }
    for (const [field, check] of checks) {
      const one = values[field]
      const wrong = one !== undefined
        ? check(one, below(name, field))
        : needed.has(field)
        ? `${below(name, field)}: is missing`
        : undefined
      if (wrong !== undefined) return wrong
    }
    return undefined
  }
}

/** The same, and no other fields: one that is misspelt would be ignored. */
export const object = <Given>(fields: Fields<Given>, ...required: ReadonlyArray<keyof Given & string>): Check => {
  const inner = shape(fields, ...required)
  return (given, name) => {
    const unknown = isObject(given) ? Object.keys(given).find((field) => !Object.hasOwn(fields, field)) : undefined
    return unknown === undefined
      ? inner(given, name)
      : `${below(name, unknown)}: there is no such option; use ${Object.keys(fields).join(", ")}`
  }
}

/** A wrong value. The sentence says everything: its stack is of use only to the caller of a function. */
export class WrongValue extends TypeError {}

/** Throws a `WrongValue` if the value does not pass. */
export const demand = (check: Check, given: unknown, name: string): void => {
  const wrong = check(given, name)
  if (wrong !== undefined) throw new WrongValue(wrong)
}

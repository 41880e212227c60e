/** Formats of dates, numbers and durations, and plurals, for the catalogues of all languages. */

/** Formats take milliseconds each to create: on first use, because most processes show pages in one language at most. */
const onFirstUse = <A>(create: () => A): () => A => {
  let created: A | undefined
  return () => created ??= create()
}

/** Formats of a language and its country. */
export interface Formats {
  /** The language and its country. */
  readonly tag: string
  readonly date: (epochMillis: number) => string
  /** Date, time and time zone (UTC). */
  readonly dateTime: (epochMillis: number) => string
  readonly number: (value: number) => string
  /** `1 hour`, `2 hours`. */
  readonly duration: (value: number, unit: "second" | "minute" | "hour") => string
}

/** The formats of a language and country. Durations follow the plural rules of the language. */
export const formats = (tag: string): Formats => {
  const dates = onFirstUse(() => new Intl.DateTimeFormat(tag, { dateStyle: "long", timeZone: "UTC" }))
  const times = onFirstUse(() =>
    new Intl.DateTimeFormat(tag, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
  )
  const numbers = onFirstUse(() => new Intl.NumberFormat(tag))
  return {
    tag,
    date: (epochMillis) => dates().format(epochMillis),
    dateTime: (epochMillis) => `${times().format(epochMillis)} UTC`,
    number: (value) => numbers().format(value),
    duration: (value, unit) =>
      new Intl.NumberFormat(tag, { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 }).format(value)
  }
}

/** Chooses the word for a count by the plural rules of the language. */
export const plural = (tag: string): (count: number, one: string, other: string) => string => {
  const rules = onFirstUse(() => new Intl.PluralRules(tag))
  return (count, one, other) => rules().select(count) === "one" ? one : other
}

/** Joins the items of a list. */
export const list = (tag: string): (items: ReadonlyArray<string>) => string => {
  const format = onFirstUse(() => new Intl.ListFormat(tag))
  return (items) => format().format(items)
}

/** A time to wait, in minutes if it is long. */
export const wait = (seconds: number, duration: Formats["duration"]): string =>
  seconds > 90 ? duration(Math.ceil(seconds / 60), "minute") : duration(seconds, "second")

/** A share as a percentage. */
export const percent = (tag: string): (share: number) => string => {
  const format = onFirstUse(() => new Intl.NumberFormat(tag, { style: "percent", maximumFractionDigits: 1 }))
  return (share) => format().format(share)
}

/** Formats of dates, numbers and durations, and plurals, for the catalogues of all languages. */
import type { Messages } from "./Messages.ts"

/** The formats of a language and country. Durations follow the plural rules of the language. */
export const formats = (tag: string): Pick<Messages, "date" | "dateTime" | "duration" | "number" | "tag"> => {
  const dates = new Intl.DateTimeFormat(tag, { dateStyle: "long", timeZone: "UTC" })
  const times = new Intl.DateTimeFormat(tag, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" })
  const numbers = new Intl.NumberFormat(tag)
  return {
    tag,
    date: (epochMillis) => dates.format(epochMillis),
    dateTime: (epochMillis) => `${times.format(epochMillis)} UTC`,
    number: (value) => numbers.format(value),
    duration: (value, unit) =>
      new Intl.NumberFormat(tag, { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 }).format(value)
  }
}

/** Chooses the word for a count by the plural rules of the language. */
export const plural = (tag: string): (count: number, one: string, other: string) => string => {
  const rules = new Intl.PluralRules(tag)
  return (count, one, other) => rules.select(count) === "one" ? one : other
}

/** A time to wait, in minutes if it is long. */
export const wait = (seconds: number, duration: Messages["duration"]): string =>
  seconds > 90 ? duration(Math.ceil(seconds / 60), "minute") : duration(seconds, "second")

/** A share as a percentage. */
export const percent = (tag: string): (share: number) => string => {
  const format = new Intl.NumberFormat(tag, { style: "percent", maximumFractionDigits: 1 })
  return (share) => format.format(share)
}

/** A log in which a line that comes again and again does not hide the others, nor fill the disk. */
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { requestIdField } from "../RequestId.ts"

/** So many equal lines are written within `windowMillis`; the others are counted, and their number is written then. */
const limit = 10

const windowMillis = 10_000

/** Lines are equal if they differ only in their time and their request. */
const keyOf = ({ annotations, cause, logLevel, message }: Logger.Logger.Options<unknown>): string => {
  const fields = HashMap.toEntries(HashMap.remove(annotations, requestIdField))
  return JSON.stringify([logLevel.label, message, fields, Cause.isEmpty(cause) ? "" : String(Cause.squash(cause))])
}

/** Warnings and errors through `logger`, throttled; other lines as they are. */
export const throttled = (logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> => {
  const counts = new Map<string, number>()
  return Logger.make((options) => {
    if (LogLevel.lessThan(options.logLevel, LogLevel.Warning)) return logger.log(options)
    const key = keyOf(options)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    if (count <= limit) logger.log(options)
    if (count > 1) return
    setTimeout(() => {
      const more = (counts.get(key) ?? 0) - limit
      counts.delete(key)
      if (more <= 0) return
      const message = `${String(options.message)} (${more} more of these lines in ${windowMillis / 1000} s)`
      logger.log({
        ...options,
        annotations: HashMap.remove(options.annotations, requestIdField),
        message,
        date: new Date()
      })
    }, windowMillis).unref()
  })
}

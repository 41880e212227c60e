/** A logger that limits repeated lines, so that they do not hide others or fill the disk. */
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { requestIdField } from "../RequestId.ts"

/**
 * Maximum number of equal lines per `windowMillis`. Further ones are counted, and their number is logged at the end.
 */
const limit = 10

const windowMillis = 10_000

/** Equal lines may differ in their time and their request. */
const keyOf = ({ annotations, cause, logLevel, message }: Logger.Logger.Options<unknown>): string => {
  const fields = HashMap.toEntries(HashMap.remove(annotations, requestIdField))
  return JSON.stringify([logLevel.label, message, fields, Cause.isEmpty(cause) ? "" : String(Cause.squash(cause))])
}

/** Throttles warnings and errors. Other lines are not limited. */
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

/** The log: one line per event, for people or as a JSON object. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as HashMap from "effect/HashMap"
import * as LogLevel from "effect/LogLevel"
import type { Configuration } from "../settings/Configuration.ts"
import { requestIdField } from "./Requests.ts"

const said = (part: unknown): string => part instanceof Error ? rootMessage(part) : Inspectable.toStringUnknown(part)

/**
 * Appends the reason of an expected failure, such as an unavailable database, to the message: as JSON an error would
 * lose its message, and as an error it would add its stack. The cause of a bug is not changed.
 */
const inOneLine = (options: Logger.Logger.Options<unknown>): Logger.Logger.Options<unknown> => {
  const failure = Cause.failureOrCause(options.cause)
  const parts = Arr.ensure(options.message)
  return Either.isLeft(failure)
    ? { ...options, message: [...parts, failure.left].map(said).join(": "), cause: Cause.empty }
    : { ...options, message: parts.map(said).join(": ") }
}

/** The logger for this configuration. */
export const layer = ({ logFormat, logLevel }: Pick<Configuration, "logFormat" | "logLevel">): Layer.Layer<never> =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.mapInputOptions(
        throttled(logFormat === "json" ? Logger.withConsoleLog(Logger.jsonLogger) : Logger.prettyLoggerDefault),
        inOneLine
      )
    ),
    Logger.minimumLogLevel(logLevel)
  )

/**
 * Maximum number of equal lines per `windowMillis`. Further ones are counted, and their number is logged at the end.
 */
const maxEqualLines = 10

const windowMillis = 10_000

/** Equal lines may differ in their time and their request. */
const keyOf = ({ annotations, cause, logLevel, message }: Logger.Logger.Options<unknown>): string => {
  const fields = HashMap.toEntries(HashMap.remove(annotations, requestIdField))
  return JSON.stringify([logLevel.label, message, fields, Cause.isEmpty(cause) ? "" : String(Cause.squash(cause))])
}

/**
 * Limits repeated warnings and errors, so that they do not hide others or fill the disk. Other lines are not limited.
 */
const throttled = (logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> => {
  const counts = new Map<string, number>()
  return Logger.make((options) => {
    if (LogLevel.lessThan(options.logLevel, LogLevel.Warning)) return logger.log(options)
    const key = keyOf(options)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    if (count <= maxEqualLines) logger.log(options)
    if (count > 1) return
    setTimeout(() => {
      const more = (counts.get(key) ?? 0) - maxEqualLines
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

/**
 * The message of the innermost cause, such as `connect ECONNREFUSED 127.0.0.1:5432`: our errors wrap those of the driver,
 * which wrap those of the network.
 */
export const rootMessage = (error: unknown): string => {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  if (inner instanceof AggregateError && inner.errors.length > 0) return rootMessage(inner.errors[0])
  return inner instanceof Error ? inner.message : String(inner)
}

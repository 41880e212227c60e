/** The log: one line per event, for people or as a JSON object. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { Configuration } from "./Configuration.ts"
import { rootMessage } from "./internal/rootMessage.ts"
import { throttled } from "./internal/throttled.ts"

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

/** The log: one line for each thing that happens, for people or as a JSON object. */
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
 * What was to be expected, such as a database that is away, is told by its reason at the end of the line: as an object it
 * would lose it (the messages of errors are not in their JSON), and as an error bring its stack, twice a second. The cause
 * of a bug stays as it is.
 */
const inOneLine = (options: Logger.Logger.Options<unknown>): Logger.Logger.Options<unknown> => {
  const failure = Cause.failureOrCause(options.cause)
  const parts = Arr.ensure(options.message)
  return Either.isLeft(failure)
    ? { ...options, message: [...parts, failure.left].map(said).join(": "), cause: Cause.empty }
    : { ...options, message: parts.map(said).join(": ") }
}

/** The log as the configuration has it. */
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

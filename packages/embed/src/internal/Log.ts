/** The log for servers without Effect: their own function, or one line for each entry on the console. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { WrongValue } from "./Check.ts"
import * as Failure from "./Failure.ts"
import type { LogEntry } from "./Options.ts"

const levelOf = (level: LogLevel.LogLevel): LogEntry["level"] =>
  LogLevel.greaterThanEqual(level, LogLevel.Error) ? "error" : level === LogLevel.Warning ? "warn" : "info"

/** Expected failures and wrong values are one line. Bugs have a stack, also those in functions of the server. */
const onConsole = ({ cause, level, message }: LogEntry): void =>
  cause === undefined ? console[level](`startlist: ${message}`) : console[level](`startlist: ${message}:`, cause)

const entryOf = ({ cause, logLevel, message }: Logger.Logger.Options<unknown>): LogEntry => {
  const said = Arr.ensure(message).filter((part) => part !== undefined)
  const level = levelOf(logLevel)
  if (Cause.isEmpty(cause)) return { level, message: said.map(Failure.reasonOf).join(": ") }
  const error = Cause.squash(cause)
  return Either.isLeft(Cause.failureOrCause(cause)) || error instanceof WrongValue
    ? { level, message: [...said, error].map(Failure.reasonOf).join(": ") }
    : { level, message: said.map(Failure.reasonOf).join(": "), cause: Failure.behind(error) }
}

/** A function that throws must not end the work that it logs. */
const safely = (log: (entry: LogEntry) => void) => (entry: LogEntry): void => {
  try {
    log(entry)
  } catch (error) {
    console.error("startlist: the function `log` failed:", error)
  }
}

export const layer = (log: (entry: LogEntry) => void = onConsole): Layer.Layer<never> => {
  const write = safely(log)
  return Logger.replace(Logger.defaultLogger, Logger.make((options) => write(entryOf(options))))
}

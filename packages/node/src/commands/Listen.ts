/**
 * `startlist listen`: polls an application's event log and posts each event, signed again, to a receiver on this
 * machine. It needs only the application's access token, and no incoming connections.
 */
import { randomBytes } from "node:crypto"
import { createInterface } from "node:readline"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { sign } from "@startlist/dispatcher/Signature"
import type { InvalidConfiguration } from "../settings/Configuration.ts"
import { checkUrl, urlOf } from "./Connection.ts"
import { CommandFailed, printLines } from "./Terminal.ts"

const LogEntry = Schema.Struct({
  cursor: Schema.String,
  sequence: Schema.Int,
  webhook_id: Schema.String,
  event: Schema.Unknown
})
type LogEntry = typeof LogEntry.Type

const Page = Schema.parseJson(Schema.Struct({ events: Schema.Array(LogEntry), next: Schema.String }))
const decodePage = Schema.decode(Page)

/** Maximum number of events on a page. A page with fewer is the last one. */
const limit = 100

const Event = Schema.Struct({ aspect_type: Schema.String, object_type: Schema.String, object_id: Schema.Number })
const decodeEvent = Schema.decodeUnknownOption(Event)

/** Interval between requests to the log. */
const poll = Duration.seconds(1)

/** Timeout of a receiver in milliseconds, as in production (requirements §8). */
const receiverTimeout = 2000

/** The options of the command. */
export interface Options {
  readonly forwardTo: string
  readonly url: Option.Option<string>
  readonly token: Option.Option<Redacted.Redacted<string>>
  readonly secret: Option.Option<string>
  readonly after: Option.Option<string>
  readonly fromStart: boolean
}

/** The service is temporarily unavailable. */
class Away extends Schema.TaggedError<Away>()("@startlist/node/Away", { message: Schema.String }) {}

interface Source {
  readonly url: string
  readonly token: Redacted.Redacted<string>
}

const refusals: Readonly<Record<number, string>> = {
  401: "the access token has expired or was revoked: get a new one and continue with --after",
  403: "the access token does not belong to a platform user, or lacks the scope for webhooks",
  422: "--after: this log does not have the cursor. Omit the option"
}

const readPage = ({ token, url }: Source, after: Option.Option<string>) =>
  Effect.tryPromise({
    try: async (signal) => {
      const rest = Option.match(after, {
        onNone: () => "",
        onSome: (cursor) => `&after=${encodeURIComponent(cursor)}`
      })
      const response = await fetch(`${url}/api/v1/webhook_subscription/events?limit=${limit}${rest}`, {
        headers: { authorization: `Bearer ${Redacted.value(token)}` },
        signal
      })
      return { status: response.status, text: await response.text() }
    },
    catch: () => new Away({ message: `${url} does not answer` })
  }).pipe(
    Effect.timeoutFail({ duration: "30 seconds", onTimeout: () => new Away({ message: `${url} does not answer` }) }),
    Effect.flatMap(({ status, text }): Effect.Effect<typeof Page.Type, Away | CommandFailed> => {
      if (status === 200) {
        return Effect.mapError(decodePage(text), () =>
          new CommandFailed({ message: `${url} is not a Startlist service` }))
      }
      if (status === 429 || status >= 500) {
        return new Away({ message: `${url} answers with status ${status}` })
      }
      return new CommandFailed({ message: refusals[status] ?? `${url} answered with status ${status}` })
    })
  )

/** Reads a page, and retries while the service is unavailable. Prints the reason once. */
const readPatiently = (
  source: Source,
  after: Option.Option<string>
): Effect.Effect<typeof Page.Type, CommandFailed> => {
  const again = readPage(source, after).pipe(
    Effect.retry({
      while: ({ _tag }) => _tag === "@startlist/node/Away",
      schedule: Schedule.union(Schedule.exponential("1 second"), Schedule.spaced("10 seconds"))
    }),
    Effect.catchTag("@startlist/node/Away", (away) => Effect.die(away))
  )
  return Effect.catchTag(
    readPage(source, after),
    "@startlist/node/Away",
    ({ message }) => Effect.zipRight(printLines(`${message}: retrying`), again)
  )
}

const forward = (url: string, secret: Redacted.Redacted<string>, { event, sequence, webhook_id: id }: LogEntry) =>
  Effect.gen(function*() {
    const body = JSON.stringify(event)
    const startedAt = yield* Clock.currentTimeMillis
    const timestamp = Math.floor(startedAt / 1000)
    const outcome = yield* Effect.tryPromise({
      try: async () => {
        const response = await fetch(url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": String(timestamp),
            "webhook-signature": sign({ id, timestamp, body }, [secret]),
            "startlist-sequence": String(sequence)
          },
          body,
          redirect: "manual",
          signal: AbortSignal.timeout(receiverTimeout)
        })
        await response.arrayBuffer()
        return String(response.status)
      },
      catch: (error) => error instanceof Error && error.name === "TimeoutError" ? "no answer within 2 s" : "not reached"
    }).pipe(Effect.merge)
    const took = (yield* Clock.currentTimeMillis) - startedAt
    const about = Option.match(decodeEvent(event), {
      onNone: () => "",
      onSome: ({ aspect_type, object_id, object_type }) => ` ${object_type} ${object_id} ${aspect_type}`
    })
    yield* printLines(`${DateTime.formatIso(DateTime.unsafeMake(startedAt))} ${id}${about}: ${outcome} (${took} ms)`)
  })

/** The first line of standard input. */
const firstLine = Effect.promise(async () => {
  for await (const line of createInterface({ input: process.stdin })) return line.trim()
  return ""
})

const tokenOf = (given: Options["token"]): Effect.Effect<Redacted.Redacted<string>, CommandFailed> =>
  Effect.gen(function*() {
    const fromEnvironment = yield* Effect.orDie(Config.option(Config.redacted("STARTLIST_ACCESS_TOKEN")))
    const token = Option.orElse(given, () => fromEnvironment)
    if (Option.isSome(token)) return token.value
    const line = process.stdin.isTTY === true ? "" : yield* firstLine
    return line === ""
      ? yield* new CommandFailed({
        message: "no access token: give --token, set STARTLIST_ACCESS_TOKEN, or write it to standard input"
      })
      : Redacted.make(line)
  })

const secretOf = (given: Option.Option<string>): Effect.Effect<Redacted.Redacted<string>, CommandFailed> =>
  Option.match(given, {
    onNone: () => Effect.sync(() => Redacted.make(`whsec_${randomBytes(32).toString("base64")}`)),
    onSome: (secret) =>
      /^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(secret)
        ? Effect.succeed(Redacted.make(secret))
        : new CommandFailed({ message: "--secret: a signing secret begins with whsec_" })
  })

/** The cursor after all events that are stored already. */
const skipStored = (source: Source): Effect.Effect<Option.Option<string>, CommandFailed> =>
  Effect.iterate({ cursor: Option.none<string>(), isEnd: false }, {
    while: ({ isEnd }) => !isEnd,
    body: ({ cursor }) =>
      Effect.map(readPatiently(source, cursor), ({ events, next }) => ({
        cursor: Option.some(next),
        isEnd: events.length < limit
      }))
  }).pipe(Effect.map(({ cursor }) => cursor))

/** Runs until it is interrupted. */
export const run = (
  options: Options
): Effect.Effect<never, CommandFailed | InvalidConfiguration> =>
  Effect.gen(function*() {
    const forwardTo = yield* checkUrl("--forward-to", options.forwardTo)
    const secret = yield* secretOf(options.secret)
    const url = yield* urlOf(options.url)
    const source = { url, token: yield* tokenOf(options.token) }
    const isBeginning = options.fromStart || Option.isSome(options.after)
    let cursor = isBeginning ? options.after : yield* skipStored(source)
    yield* printLines(`Events of ${url} are posted to ${forwardTo}, signed with ${Redacted.value(secret)}`)
    const follow = Effect.gen(function*() {
      const page = yield* readPatiently(source, cursor)
      for (const event of page.events) {
        yield* forward(forwardTo, secret, event)
        cursor = Option.some(event.cursor)
      }
      cursor = Option.some(page.next)
      if (page.events.length < limit) yield* Effect.sleep(poll)
    })
    const sayCursor = Effect.suspend(() =>
      Option.match(cursor, { onNone: () => Effect.void, onSome: (last) => printLines(`To continue: --after ${last}`) })
    )
    return yield* Effect.ensuring(Effect.forever(follow), sayCursor)
  })

/** Instants in UTC. The script of the pages shows them in the reader's own time zone. */
import * as DateTime from "effect/DateTime"
import { type Locale, messagesIn } from "./Locale.ts"

interface Props {
  readonly at: DateTime.Utc
  readonly locale: Locale
}

/** Date and time. */
export const Instant = ({ at, locale }: Props) => (
  <time datetime={DateTime.formatIso(at)} data-show="time">{messagesIn(locale).dateTime(at.epochMillis)}</time>
)

/** The date alone. */
export const Day = ({ at, locale }: Props) => (
  <time datetime={DateTime.formatIso(at)} data-show="date">{messagesIn(locale).date(at.epochMillis)}</time>
)

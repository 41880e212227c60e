/** The `Retry-After` of a response (RFC 9110 §10.2.3). */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** Maximum wait. Longer values are probably mistakes. */
const longest = Duration.days(1)

/** The forms of an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT` and two obsolete ones. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :-]{16,24}$/

/** Time to wait from `now` (milliseconds since 1970), at most a day. None without a wait. */
export const parse = (value: string, now: number): Option.Option<Duration.Duration> => {
  const millis = /^\d+$/.test(value) ? Number(value) * 1000 : httpDate.test(value) ? toMillis(value) - now : NaN
  return millis > 0 ? Option.some(Duration.min(Duration.millis(millis), longest)) : Option.none()
}

/** Parses a date. The obsolete asctime form has no zone, but is in GMT like the others. */
const toMillis = (date: string): number => Date.parse(date.endsWith("GMT") ? date : `${date} GMT`)

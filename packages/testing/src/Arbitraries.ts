/** Arbitrary values of everything that is stored. Some are texts and numbers that break stores. */
import * as Application from "@startlist/core/Application"
import { ClientSecret, type Lifetime } from "@startlist/core/ApplicationSecret"
import type { Attempt } from "@startlist/core/Delivery"
import { type Updates } from "@startlist/core/Event"
import type { NewRegistration, Parties } from "@startlist/core/Registration"
import { maxId, SingleLine } from "@startlist/core/Store"
import type { User } from "@startlist/core/User"
import * as Arbitrary from "effect/Arbitrary"
import * as DateTime from "effect/DateTime"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Texts that some store, driver or encoding has damaged before. */
export const notorious: ReadonlyArray<string> = [
  "",
  " ",
  "  both ends  ",
  "line one\nline two\r\nline three\ttabbed",
  "\"double\" 'single' `back` \\ backslash",
  "'; DROP TABLE grants; --",
  "{\"a\":1}",
  "{a,b}",
  "NULL",
  "\\N",
  "$1 :name ? %s",
  "é e\u0301",
  "Ærøskøbing, Zürich, 東京, Αθήνα, עברית",
  "👩‍👩‍👧‍👦 🏃🏽‍♀️",
  "\u2028\u2029\u0001\u007f\u0085\u200b\ufeff",
  "\u{10ffff}\uffff"
]

/** Any text that a store must accept: every character but NUL and halves of surrogate pairs; at most `maxLength`. */
export const text = (maxLength = 200): FastCheck.Arbitrary<string> =>
  FastCheck.oneof(
    FastCheck.constantFrom(...notorious),
    // The maximum number of characters, with one, two or four bytes each.
    FastCheck.constantFrom("a".repeat(maxLength), "é".repeat(maxLength), "🏃".repeat(Math.floor(maxLength / 2))),
    FastCheck.string({ maxLength }),
    FastCheck.fullUnicodeString({ maxLength: Math.floor(maxLength / 2) })
  ).map((value) => value.replaceAll("\0", " ").slice(0, maxLength)).filter((value) => !/\p{Cs}/u.test(value))

/** Text of one line, as in names of people. */
export const line = (maxLength = 200): FastCheck.Arbitrary<string> => text(maxLength).filter(Schema.is(SingleLine))

/** Text that is not empty. */
export const nonEmptyText = (maxLength = 200): FastCheck.Arbitrary<string> =>
  text(maxLength).filter((value) => value !== "")

/** A scope-token of RFC 6749 §3.3. */
export const scopeName: FastCheck.Arbitrary<string> = FastCheck.stringMatching(/^[!#-[\]-~]{1,60}$/)

/** The last instant that has four digits for its year. */
export const latest = DateTime.unsafeMake(253402300799999)

/** An instant from 1970 to `latest`, in whole milliseconds. */
export const instant: FastCheck.Arbitrary<DateTime.Utc> = FastCheck.oneof(
  FastCheck.constantFrom(0, 1, 999, 951782400000, 1711846800000, latest.epochMillis),
  FastCheck.integer({ min: 0, max: latest.epochMillis })
).map(DateTime.unsafeMake)

/** A value or none. */
export const option = <A>(value: FastCheck.Arbitrary<A>): FastCheck.Arbitrary<Option.Option<A>> =>
  FastCheck.option(value, { nil: undefined }).map(Option.fromNullable)

/** A whole number between 1 and 2^53 - 1, often at the ends. */
export const bigId: FastCheck.Arbitrary<number> = FastCheck.oneof(
  FastCheck.constantFrom(1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, maxId - 1, maxId),
  FastCheck.integer({ min: 1, max: maxId })
)

/** A user. The address is unique if `label` is. */
export const newUser = (label: string): FastCheck.Arbitrary<Omit<User, "id">> =>
  FastCheck.record({
    role: FastCheck.constantFrom("platform", "organizer", "club", "athlete"),
    email: FastCheck.tuple(FastCheck.constantFrom("Anna", "o'brien+tag", "ünïcode", "東京"), FastCheck.uuid())
      .map(([name, unique]) => `${name}.${label}.${unique}@example.test`),
    firstName: line(),
    lastName: line()
  })

/** The six fields of a registration's `updates`. */
export const updates: FastCheck.Arbitrary<Updates> = FastCheck.record({
  platform_id: text(),
  registration_status: text(),
  document_type: text(),
  document_status: text(),
  reasons: FastCheck.array(text(), { maxLength: 4 }),
  comment: text(2000)
})

/** The `traceparent` of a request that was traced, or none. */
export const trace: FastCheck.Arbitrary<Option.Option<string>> = option(
  FastCheck.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
)

/** A registration of these parties. */
export const newRegistration = (parties: Parties): FastCheck.Arbitrary<NewRegistration> =>
  updates.map((values) => ({ parties, updates: values }))

/** The fields of an application that its owner can change. */
export const settings: FastCheck.Arbitrary<Application.Settings> = FastCheck.record({
  name: text(100).map((value) => value.trim()).filter((value) => value !== ""),
  redirectUris: FastCheck.array(nonEmptyText(), { maxLength: 4 }),
  requirePkce: FastCheck.boolean(),
  links: FastCheck.record({ website: nonEmptyText(), privacyPolicy: nonEmptyText(), logo: nonEmptyText() }, {
    requiredKeys: []
  })
}, { requiredKeys: ["name", "redirectUris", "requirePkce"] })

/** Number and end of a secret. */
export const lifetime: FastCheck.Arbitrary<Lifetime> = FastCheck.record({
  number: FastCheck.integer({ min: 1, max: 2 ** 31 }),
  expiresAt: option(instant)
})

/** Some secrets by their fingerprints. */
export const clientSecrets: FastCheck.Arbitrary<ReadonlyArray<ClientSecret>> = FastCheck.array(
  FastCheck.tuple(lifetime, Arbitrary.make(ClientSecret.fields.hash)).map(([fields, hash]) => ({ ...fields, hash })),
  { minLength: 1, maxLength: 6 }
)

/** A finished attempt. */
export const attempt: FastCheck.Arbitrary<Attempt> = FastCheck.record({
  at: instant,
  durationMs: FastCheck.nat(60_000),
  outcome: FastCheck.constantFrom("delivered", "rejected", "timeout", "unreachable", "forbidden_address"),
  status: option(FastCheck.integer({ min: 100, max: 599 })),
  detail: text()
})

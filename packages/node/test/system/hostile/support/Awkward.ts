/** Names and values that hostile and broken clients send. */
import { FastCheck } from "effect"

const { constantFrom, oneof, string } = FastCheck

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

/** Without the secrets that no response may contain: a comment or a name may be shown. */
const liveValues = constantFrom(...words(`
  {{access}} {{platformAccess}} {{refresh}} {{code}} {{clientId}} {{spareClientId}} {{spareClientSecret}}
  {{session}} {{csrf}} {{email}} {{organizerPassword}}
`))

/** Numbers, and words that mean something to a parser, a language, a database or us. */
const awkward = constantFrom(...words(`
  0 -1 1e3 01 9007199254740993 99999999999999999999 null true NaN %00 %zz + " \\ <script> {{nothing}}
  __proto__ constructor toString ../../etc/passwd http://[::1 https://x.test javascript:alert(1) //evil.test
  /\\evil.test http://localhost.evil.test/ http://127.0.0.1:1@evil.test/ Bearer S256 plain fr xx platform 😀 é ı
`))

/** Texts with spaces, control characters, halves of characters and marks, and texts at limits of length. */
const unusual = constantFrom(
  "",
  " ",
  "\0",
  "a\0b",
  "a\r\nSet-Cookie: planted=1",
  "a\nb",
  "\t",
  "'; DROP TABLE grants; --",
  "Basic Og==",
  "\ud800",
  "\udfff\ud800",
  "\u202e",
  "\ufeff",
  "e\u0301",
  "a".repeat(255),
  "a".repeat(300),
  "é".repeat(2000),
  "a".repeat(5000)
)

/** Values of parameters. */
export const text = oneof(
  { weight: 2, arbitrary: awkward },
  { weight: 1, arbitrary: unusual },
  { weight: 1, arbitrary: oneof(FastCheck.maxSafeInteger(), FastCheck.double()).map(String) },
  { weight: 2, arbitrary: liveValues },
  { weight: 2, arbitrary: string({ maxLength: 30, unit: "binary" }) },
  { weight: 1, arbitrary: string({ maxLength: 12, unit: "grapheme-ascii" }) }
)

/** Names that mean something somewhere, and two that must not. */
export const parameterNames = constantFrom(
  ...words(`
  client_id client_secret grant_type code redirect_uri refresh_token token scope state role locale
  response_type code_challenge code_challenge_method code_verifier csrf decision email password
  return_to id limit after action access_token __proto__
`),
  ""
)

/** Headers that change how a request is read or answered, and some that do not exist. */
export const headerNames = constantFrom(
  ...words(`
  Authorization Content-Type Cookie Host Origin Referer X-Forwarded-For X-Forwarded-Host
  Accept-Language Accept Content-Length Transfer-Encoding Connection Upgrade Expect TE
  X-HTTP-Method-Override Range If-None-Match Sec-Fetch-HttpConfig Forwarded Content-Encoding x-y
`),
  "bad name",
  "",
  ":"
)

/** Values of headers. */
export const headerValues = oneof(
  { weight: 2, arbitrary: text },
  {
    weight: 3,
    arbitrary: constantFrom(
      ...words(`
        startlist_session={{session}} startlist_session={{platformSession}} startlist_session=
        application/json APPLICATION/JSON;x text/plain http://evil.test null cross-site ::1 close websocket
        100-continue 200-ok trailers gzip bytes=0- DELETE chunked 5
      `),
      "Bearer {{access}}",
      "bearer  {{access}}",
      "Bearer {{access}} x",
      "Bearer {{refresh}}",
      "Basic {{basic}}",
      "Basic {{access}}",
      "Basic !!",
      "a=b; startlist_session={{session}}; c",
      "application/x-www-form-urlencoded; charset=latin1",
      "multipart/form-data; boundary=x",
      "203.0.113.9, 10.0.0.1",
      "fr;q=0.9, *;q=0",
      "keep-alive, upgrade",
      "x".repeat(9000),
      "x".repeat(20_000)
    )
  }
)

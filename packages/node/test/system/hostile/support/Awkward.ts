/** Names and values that hostile and broken clients send. */
import { FastCheck } from "effect"

const { constantFrom, oneof, string } = FastCheck

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

/** Without the secrets that no response may contain: a comment or a name may be shown. */
const liveValues = constantFrom(
  "{{access}}",
  "{{platformAccess}}",
  "{{refresh}}",
  "{{code}}",
  "{{clientId}}",
  "{{spareClientId}}",
  "{{spareClientSecret}}",
  "{{session}}",
  "{{csrf}}",
  "{{email}}",
  "{{organizerPassword}}"
)

const awkward = constantFrom(
  "",
  " ",
  "0",
  "-1",
  "1e3",
  "01",
  "9007199254740993",
  "99999999999999999999",
  "null",
  "true",
  "NaN",
  "\0",
  "a\0b",
  "%00",
  "%zz",
  "+",
  "a\r\nSet-Cookie: planted=1",
  "a\nb",
  "\t",
  "../../etc/passwd",
  "'; DROP TABLE grants; --",
  "\"",
  "\\",
  "<script>",
  "{{nothing}}",
  "__proto__",
  "constructor",
  "toString",
  "\ud800",
  "\udfff\ud800",
  "\u202e",
  "\ufeff",
  "😀",
  "é",
  "e\u0301",
  "ı",
  "http://[::1",
  "https://x.test",
  "javascript:alert(1)",
  "//evil.test",
  "/\\evil.test",
  "http://localhost.evil.test/",
  "http://127.0.0.1:1@evil.test/",
  "Bearer",
  "Basic Og==",
  "S256",
  "plain",
  "fr",
  "xx",
  "platform",
  "a".repeat(255),
  "a".repeat(300),
  "é".repeat(2000),
  "a".repeat(5000)
)

/** Values of parameters. */
export const text = oneof(
  { weight: 4, arbitrary: awkward },
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
      "Bearer {{access}}",
      "bearer  {{access}}",
      "Bearer {{access}} x",
      "Bearer {{refresh}}",
      "Basic {{basic}}",
      "Basic {{access}}",
      "Basic !!",
      "startlist_session={{session}}",
      "startlist_session={{platformSession}}",
      "startlist_session=",
      "a=b; startlist_session={{session}}; c",
      "application/json",
      "application/x-www-form-urlencoded; charset=latin1",
      "APPLICATION/JSON;x",
      "text/plain",
      "multipart/form-data; boundary=x",
      "http://evil.test",
      "null",
      "cross-site",
      "203.0.113.9, 10.0.0.1",
      "::1",
      "fr;q=0.9, *;q=0",
      "close",
      "keep-alive, upgrade",
      "websocket",
      "100-continue",
      "200-ok",
      "trailers",
      "gzip",
      "bytes=0-",
      "DELETE",
      "chunked",
      "5",
      "x".repeat(9000),
      "x".repeat(20_000)
    )
  }
)

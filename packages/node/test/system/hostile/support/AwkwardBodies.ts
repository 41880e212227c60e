/** Bodies and parts of bodies that hostile and broken clients send. */
import { FastCheck } from "effect"
import { text } from "./Awkward.ts"

const { constantFrom, oneof, string } = FastCheck

/** Replacements for values in JSON. */
export const jsonValues = oneof<Array<FastCheck.WeightedArbitrary<unknown>>>(
  { weight: 2, arbitrary: text },
  { weight: 2, arbitrary: FastCheck.jsonValue() },
  {
    weight: 1,
    arbitrary: constantFrom<unknown>(
      "{{clientId}}",
      ["{{redirectUri}}"],
      "http://127.0.0.1:1/",
      Array.from({ length: 2000 }, () => 1),
      { ["__proto__"]: { x: 1 } }
    )
  }
)

/** Bodies, one character a byte. */
export const bodies = oneof(
  {
    weight: 2,
    arbitrary: string({ maxLength: 60, unit: "binary" }).map((value) => Buffer.from(value).toString("latin1"))
  },
  {
    weight: 3,
    arbitrary: constantFrom(
      "",
      "{",
      "[]",
      "null",
      "\"",
      "{\"a\":1,\"a\":2}",
      "[".repeat(20_000),
      "{\"a\":".repeat(9000),
      "\xff\xfe",
      "\xc3",
      "a=%",
      "a=%ff",
      "=&=&&",
      "&".repeat(60_000),
      "a=b&".repeat(15_000),
      "x".repeat(65_536),
      "x".repeat(65_537),
      "x".repeat(200_000),
      "x".repeat(1_100_000),
      "client_id={{clientId}}&client_id={{clientId}}",
      "{\"webhook_subscription\":{\"callback_url\":\"http://127.0.0.1:1/\",\"verify_token\":\"\\u0000\"}}"
    )
  }
)

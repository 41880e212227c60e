/** Settings as people write them. */
import { expect, it } from "vitest"
import * as Settings from "../src/Settings.ts"

const given = {
  STARTLIST_URL: "https://registrations.example",
  CLIENT_ID: "1",
  CLIENT_SECRET: "secret",
  SIGNING_SECRET: "whsec_AAAA"
}

it("takes addresses with a slash at their end for the same ones", () => {
  const settings = Settings.read({
    ...given,
    STARTLIST_URL: `${given.STARTLIST_URL}/`,
    PUBLIC_URL: "http://planner.test/"
  })
  expect(settings).toMatchObject({ startlistUrl: given.STARTLIST_URL, publicUrl: "http://planner.test" })
})

it("names what is missing or wrong", () => {
  expect(() => Settings.read({ ...given, CLIENT_SECRET: "" })).toThrow("CLIENT_SECRET")
  expect(() => Settings.read({ ...given, STARTLIST_URL: "registrations" })).toThrow("STARTLIST_URL")
  expect(() => Settings.read({ ...given, PORT: "http" })).toThrow("PORT")
})

import { Templates } from "@startlist/pages"
import { describe, expect, it } from "vitest"

/** Everything that a catalogue says; where it says something about something, about `1`, lines or an hour. */
const sentences = (catalogue: unknown): ReadonlyArray<string> =>
  typeof catalogue === "string"
    ? [catalogue]
    : typeof catalogue === "function"
    ? [String(catalogue([1], "hour", 1))]
    : typeof catalogue === "object" && catalogue !== null
    ? Object.values(catalogue).flatMap(sentences)
    : []

describe("the languages", () => {
  it("French: no line can break before a mark that has a space before it, and none of these spaces is missing", () => {
    const french = sentences(Templates.messagesIn("fr"))
    expect(french.length).toBeGreaterThan(150)
    // Addresses and times have colons of their own.
    const wrong = french.filter((text) => /[ \p{L}»][;:?!»](?=\s|$)|«[^\u00a0\u202f]/u.test(text))
    expect(wrong).toEqual([])
  })

  it("numbers have the plural of the language", () => {
    const [english, french] = [Templates.messagesIn("en"), Templates.messagesIn("fr")]
    expect([1, 2, 90, 91, 600].map(english.login.wait)).toEqual([
      "Too many attempts. Try again in 1 second.",
      "Too many attempts. Try again in 2 seconds.",
      "Too many attempts. Try again in 90 seconds.",
      "Too many attempts. Try again in 2 minutes.",
      "Too many attempts. Try again in 10 minutes."
    ])
    expect([0, 1, 1.5, 2].map((hours) => english.duration(hours, "hour"))).toEqual([
      "0 hours",
      "1 hour",
      "1.5 hours",
      "2 hours"
    ])
    const spaced = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, " ")
    expect([0, 1, 1.5, 2].map((hours) => spaced(french.duration(hours, "hour")))).toEqual([
      "0 heure",
      "1 heure",
      "1,5 heure",
      "2 heures"
    ])
    expect([0, 1, 2].map((failed) => english.developer.chart.summary(0, failed).split(".", 1)[0])).toEqual([
      "0 attempts",
      "1 attempt",
      "2 attempts"
    ])
    expect([0, 1, 2].map((failed) => french.developer.chart.summary(0, failed).split(".", 1)[0])).toEqual([
      "0 tentative",
      "1 tentative",
      "2 tentatives"
    ])
  })
})

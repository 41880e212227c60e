import { Templates } from "@startlist/pages"
import { describe, expect, it } from "vitest"

/** Everything that a catalogue says; where it says something about something, about `1`. */
const sentences = (catalogue: unknown): ReadonlyArray<string> =>
  typeof catalogue === "string"
    ? [catalogue]
    : typeof catalogue === "function"
    ? [String(catalogue(1, 1, 1))]
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
})

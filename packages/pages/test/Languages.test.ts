import { Templates } from "@startlist/pages"
import { describe, expect, it } from "vitest"

const [english, french] = [Templates.textsIn("en"), Templates.textsIn("fr")]

/** Texts of a catalogue by path. A text about values is about `1`, lines or an hour. */
const textsOf = (catalogue: unknown, path = ""): ReadonlyArray<readonly [path: string, text: unknown]> =>
  typeof catalogue === "function"
    ? [[path, catalogue([1], "hour", 1)]]
    : typeof catalogue === "object" && catalogue !== null
    ? Object.entries(catalogue).flatMap(([key, value]) => textsOf(value, `${path}.${key}`))
    : [[path, catalogue]]

/** Names of the protocol, and words that French has in common with English. */
const common = new Set([
  ".reference.description",
  ".reference.type",
  ".roles.club",
  ".security.session",
  ".developer.applications.clientId",
  ".developer.sections.secrets",
  ".developer.sections.webhook",
  ".developer.secret.label",
  ".developer.webhook.title",
  ".developer.delivery.webhookId"
])

/** Texts about the name of a scope or of a type of object, which `1` is not. */
const named = [".scope", ".developer.about"]

const counts = [0, 1, 2, 1000]

/** Intl separates digits and units with spaces that do not break. */
const spaced = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, " ")

describe("the languages", () => {
  it("no text of one language is missing in the other, empty or not translated", () => {
    const [one, other] = [new Map(textsOf(english)), new Map(textsOf(french))]
    expect([...one.keys()]).toEqual([...other.keys()])
    const texts = [...one].filter(([path]) => !named.includes(path))
    expect(texts.filter(([path, text]) => !text || !other.get(path)).map(([path]) => path)).toEqual([])
    const equal = texts.filter(([path, text]) => /\p{L}{3}/u.test(String(text)) && text === other.get(path))
    expect(new Set(equal.map(([path]) => path))).toEqual(common)
  })

  it("no text names the platform: its operator does", () => {
    const texts = [...textsOf(english), ...textsOf(french)].map(([, text]) => String(text))
    expect(texts.filter((text) => text.includes("Startlist"))).toEqual([])
  })

  it("French: no line can break before a mark that has a space before it, and none of these spaces is missing", () => {
    const texts = textsOf(french).map(([, text]) => String(text))
    expect(texts.length).toBeGreaterThan(150)
    // Addresses and times have colons of their own.
    const wrong = texts.filter((text) => /[ \p{L}»][;:?!»](?=\s|$)|«[^\u00a0\u202f]/u.test(text))
    expect(wrong).toEqual([])
  })

  it("French addresses all genders", () => {
    const texts = textsOf(french).map(([, text]) => String(text))
    const masculine =
      /(?<!\p{L})(?:vous (?:êtes|serez|a|ont) \p{L}+é|utilisateurs(?! et utilisatrices))(?!\p{L})|\(e\)|·/iu
    expect(texts.filter((text) => masculine.test(text))).toEqual([])
  })

  it("durations have the plural of the language", () => {
    expect([1, 2, 90, 91, 600].map(english.login.wait)).toEqual([
      "Too many attempts. Try again in 1 second.",
      "Too many attempts. Try again in 2 seconds.",
      "Too many attempts. Try again in 90 seconds.",
      "Too many attempts. Try again in 2 minutes.",
      "Too many attempts. Try again in 10 minutes."
    ])
    expect([...counts, 1.5].map((hours) => english.duration(hours, "hour"))).toEqual([
      "0 hours",
      "1 hour",
      "2 hours",
      "1,000 hours",
      "1.5 hours"
    ])
    expect([...counts, 1.5].map((hours) => spaced(french.duration(hours, "hour")))).toEqual([
      "0 heure",
      "1 heure",
      "2 heures",
      "1 000 heures",
      "1,5 heure"
    ])
  })

  it("counts have the plural of the language", () => {
    expect(counts.map((failed) => english.developer.chart.summary(0, failed).split(".", 1)[0])).toEqual([
      "0 attempts",
      "1 attempt",
      "2 attempts",
      "1,000 attempts"
    ])
    expect(counts.map((failed) => spaced(french.developer.chart.summary(0, failed).split(".", 1)[0] ?? ""))).toEqual([
      "0 tentative",
      "1 tentative",
      "2 tentatives",
      "1 000 tentatives"
    ])
    expect(counts.map((count) => english.notices.redelivered(String(count)))).toEqual([
      "There is no failed event to deliver again.",
      "1 event is delivered again.",
      "2 events are delivered again.",
      "1,000 events are delivered again."
    ])
    expect(counts.map((count) => spaced(french.notices.redelivered(String(count))))).toEqual([
      "Aucun événement en échec à livrer à nouveau.",
      "1 événement est livré à nouveau.",
      "2 événements sont livrés à nouveau.",
      "1 000 événements sont livrés à nouveau."
    ])
    const wrong = [[3], [3, 5]]
    expect(wrong.map((lines) => english.developer.settings.redirectUrisWrong(lines).slice(0, 20))).toEqual([
      "Check line 3 of the ",
      "Check lines 3 and 5 "
    ])
    expect(wrong.map((lines) => french.developer.settings.redirectUrisWrong(lines).slice(0, 25))).toEqual([
      "Vérifiez la ligne 3 des a",
      "Vérifiez les lignes 3 et "
    ])
  })
})

/**
 * The language of a page: the parameter `locale`, else the stored choice, else the browser's preference, else English.
 */
import { parseCookie, stringifySetCookie } from "cookie"
import { header, type Request } from "@startlist/http/Http"
import * as English from "./English.ts"
import type { Texts } from "./English.ts"
import * as French from "./French.ts"

/** Requirements §4.1. */
export type Locale = "en" | "fr"

/** All languages, in the order of the switch. */
export const locales: ReadonlyArray<Locale> = ["en", "fr"]

const catalogues: Readonly<Record<Locale, Texts>> = { en: English.texts, fr: French.texts }

/** The texts in a language. */
export const textsIn = (locale: Locale): Texts => catalogues[locale]

const isLocale = (value: string | undefined): value is Locale => value === "en" || value === "fr"

/** The supported language of a tag such as `fr`, `fr-FR` or `FR_ca` (RFC 5646). */
export const parse = (tag: string | undefined): Locale | undefined => {
  const language = tag?.toLowerCase().split(/[-_]/, 1)[0]
  return isLocale(language) ? language : undefined
}

const cookieName = "startlist_locale"

/** A cookie that stores the choice for a year, for all paths below `base`. */
export const cookie = (locale: Locale, base: string): string =>
  stringifySetCookie({
    name: cookieName,
    value: locale,
    path: base || "/",
    maxAge: 31_536_000,
    httpOnly: true,
    sameSite: "lax"
  })

/** The language of a request. `requested` is the parameter `locale`. Other languages than French and English are ignored. */
export const of = (request: Request, requested?: string): Locale =>
  parse(requested) ??
    parse(parseCookie(header(request, "cookie") ?? "")[cookieName]) ??
    preferred(header(request, "accept-language") ?? "")

/** The supported language with the highest weight (RFC 9110 §12.5.4). Of equals, the first one. */
const preferred = (acceptLanguage: string): Locale => {
  let best: { readonly locale: Locale; readonly weight: number } = { locale: "en", weight: 0 }
  for (const range of acceptLanguage.slice(0, 1000).split(",")) {
    const [tag = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    const locale = parse(tag)
    const weight = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1")
    if (locale !== undefined && weight > best.weight) best = { locale, weight }
  }
  return best.locale
}

/**
 * The texts of the pages. Their types come from the English catalogue: every other language must have the same texts,
 * and a missing one does not compile.
 */
import type * as English from "./English.ts"

/** The same texts in any language. */
type InAnyLanguage<Text> = Text extends string ? string
  : Text extends (...values: infer Values) => infer Sentence ? (...values: Values) => InAnyLanguage<Sentence>
  : Text extends object ? { readonly [Name in keyof Text]: InAnyLanguage<Text[Name]> }
  : Text

/** All texts of a language. */
export type Texts = InAnyLanguage<typeof English.texts>

/** The reason why a page cannot be shown, as far as users need it. */
export type ErrorKind = {
  [Name in keyof Texts["error"]]: Texts["error"][Name] extends { readonly advice: string } ? Name : never
}[keyof Texts["error"]]

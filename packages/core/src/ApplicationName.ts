/** Names of applications. Users decide by them whom they trust, so a name must not look like another one. */
import * as Option from "effect/Option"

/** Controls, formats (also bidirectional ones), private and invisible characters, and spaces but the plain one. */
const invisible = /(?! )[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Emoji may be joined sequences of emoji, which contain characters that are invisible elsewhere (UTS 51 §1.4.9). */
const emoji =
  /\p{Extended_Pictographic}\p{Emoji_Modifier}?\uFE0F?(?:\u200D\p{Extended_Pictographic}\p{Emoji_Modifier}?\uFE0F?)*/gu

/** Recommended scripts (UAX 31, table 5). Letters of other scripts are rare and often lookalikes. */
const scripts = (
  "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew Kannada Khmer Lao Latin " +
  "Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan"
).split(" ").map((script) => [script])

/** Scripts that one word may mix (UTS 39 §5.1). */
const mixed = [["Han", "Hiragana", "Katakana"], ["Han", "Bopomofo"], ["Han", "Hangul"]]

const ofOneWriting = [...scripts, ...mixed].map((names) =>
  new RegExp(`^[${[...names, "Common", "Inherited"].map((name) => `\\p{Script_Extensions=${name}}`).join("")}]*$`, "u")
)

/** Letters of other scripts that look like one of A–Z (UTS 39, confusables.txt). */
const likeLatin = new Set(
  "аАЬВсСԁеҽЕԌһНіꙇӏјЈКІӀМоОрРԛгѕЅТѵѴѡԝԜхХуүУҮ" + "αΑΒΕϜΗιϳͿΚΙΜϺΝοσΟρΡᴦΤυνΧγΥΖ" + "քցհոռօՕգզՏսՍա"
)

const letters = (text: string): ReadonlyArray<string> => text.match(/\p{L}/gu) ?? []

/** Whether a name without Latin letters reads like one in Latin letters. */
const passesForLatin = (name: string): boolean =>
  letters(name).length > 0 && letters(name).every((letter) => likeLatin.has(letter))

/** Characters that look like a letter, also small capitals. */
const alike = new Map(
  ("0o 1l 3e 4a 5s 7t $s @a !l |l il ıl ɪl łl øo ɑa ŧt " +
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz")
    .split(" ").map(([a = "", b = ""]) => [a, b])
)

/** First of the letters A to Z that are inverted in circles, inverted in squares, or parts of flags. */
const enclosed = [0x1f150, 0x1f170, 0x1f1e6]

/** Enclosed letters as plain ones. Unicode does not decompose those that count as symbols. */
const unenclosed = (text: string): string =>
  text.replaceAll(/[\u{1F150}-\u{1F169}\u{1F170}-\u{1F189}\u{1F1E6}-\u{1F1FF}]/gu, (letter) => {
    const point = letter.codePointAt(0) ?? 0
    return String.fromCharCode(97 + point - Math.max(...enclosed.filter((first) => first <= point)))
  })

/** Words of a text without accents, case, plural, and the differences between letters that look alike. */
const words = (text: string): ReadonlyArray<string> =>
  unenclosed(text).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
    .replaceAll(/./gu, (one) => alike.get(one) ?? one)
    .split(/[^\p{L}\p{N}]+/u).map((word) => word.length > 2 ? word.replace(/s$/, "") : word).filter((word) =>
      word !== ""
    )

/** Whether a text contains another one, as words or with all its letters joined. */
const contains = (text: string, part: string): boolean => {
  const [own, others] = [words(text), words(part)]
  return others.length > 0 &&
    (` ${own.join(" ")} `.includes(` ${others.join(" ")} `) || own.join("") === others.join(""))
}

/** Returns why an application may not have this name: a clause that begins with "must". */
export const problemOf = (name: string, platform: string): Option.Option<string> => {
  if (invisible.test(name.replaceAll(emoji, ""))) {
    return Option.some("must not contain characters that are invisible or change its direction")
  }
  if (name.normalize("NFKC") !== name.normalize("NFC")) {
    return Option.some("must be written with plain letters, without styled variants of them")
  }
  if (!name.split(" ").every((word) => ofOneWriting.some((writing) => writing.test(word)))) {
    return Option.some("must not mix alphabets within a word")
  }
  if (passesForLatin(name)) return Option.some("must not look like a name in Latin letters")
  return contains(name, platform)
    ? Option.some(`must not contain the name of the platform (${platform})`)
    : Option.none()
}

const controls = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/gu

const escape = (character: string): string =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")

/** Escapes characters that could control a terminal or change the direction of text, as in JSON: `\u001b`. */
export const printable = (text: string): string => text.replaceAll(controls, escape)

/** JSON for a terminal, with such characters escaped. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).split("\n").map(printable).join("\n")

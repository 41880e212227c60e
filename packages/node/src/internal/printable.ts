const controls = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200C\u200D])\p{Cf}/gu

const escape = (character: string): string =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")

/**
 * Text that cannot control a terminal. Escapes and other controls, line ends, and characters that change the direction
 * of text become `\u001b`, as JSON has them.
 */
export const printable = (text: string): string => text.replaceAll(controls, escape)

/** JSON for a terminal: the same value, with such characters escaped. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).split("\n").map(printable).join("\n")

/** The colour of a platform on the pages: its contrast (WCAG 2.2 §1.4.3), and the style sheet that uses it. */
import * as Option from "effect/Option"

type Rgb = readonly [red: number, green: number, blue: number]

/** Minimum contrast of texts (WCAG AA). */
const enough = 4.5

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]

/** Backgrounds of links: of the page in the light theme, and of cards in the dark one. Each is the worse of its theme. */
const light: Rgb = [0xf4, 0xf6, 0xf9]
const dark: Rgb = [0x1a, 0x20, 0x2a]

/** The dark theme shows a lighter shade, with the contrast that its other texts have. */
const enoughInDark = 6

const parse = (color: string): Rgb | undefined => {
  const [, red, green, blue] = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(color) ?? []
  return red === undefined || green === undefined || blue === undefined
    ? undefined
    : [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)]
}

const write = (color: Rgb): string => `#${color.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`

/** Relative luminance (WCAG 2.2). */
const luminance = (color: Rgb): number => {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}

const contrast = (one: Rgb, other: Rgb): number => {
  const [more = 0, less = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (more + 0.05) / (less + 0.05)
}

const mixed = ([red, green, blue]: Rgb, [r, g, b]: Rgb, share: number): Rgb => [
  red + (r - red) * share,
  green + (g - green) * share,
  blue + (b - blue) * share
]

/** The colour, mixed with as little of the other one as gives the contrast. */
const until = (color: Rgb, other: Rgb, isEnough: (mixed: Rgb) => boolean): Rgb => {
  for (let percent = 0; percent < 100; percent++) {
    const candidate = mixed(color, other, percent / 100)
    if (isEnough(candidate)) return candidate
  }
  return other
}

/** The light theme has links on the page and white text on buttons. White is brighter than the page. */
const isDarkEnough = (color: Rgb): boolean => contrast(color, light) >= enough

/** Why a colour cannot be that of a platform: a clause about it, with a colour to use instead. */
export const problemOf = (color: string): Option.Option<string> => {
  const rgb = parse(color)
  if (rgb === undefined) return Option.some(`${JSON.stringify(color)} is not a colour such as #0b5cad`)
  if (isDarkEnough(rgb)) return Option.none()
  const [onWhite, onPage] = [white, light].map((other) => (Math.floor(contrast(rgb, other) * 100) / 100).toFixed(2))
  return Option.some(
    `${color} has a contrast of ${onWhite}:1 with white text and of ${onPage}:1 as a link. `
      + `WCAG AA asks for ${enough}:1. Use a darker colour, such as ${write(until(rgb, black, isDarkEnough))}.`
  )
}

const variables = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values).map(([name, value]) => `--pico-primary${name}:${value}`).join(";")

/** The rules that replace the colour of buttons and links, in both themes. The colour must have no problem. */
export const styleOf = (color: string): string => {
  const rgb = parse(color) ?? black
  const darker = write(mixed(rgb, black, 0.2))
  const shade = until(rgb, white, (lighter) => contrast(lighter, dark) >= enoughInDark)
  const lighter = write(mixed(shade, white, 0.3))
  const buttons = { "-background": write(rgb), "-hover-background": darker }
  const ofTheme = (link: string, hover: string) =>
    variables({
      ...buttons,
      "": link,
      "-border": link,
      "-underline": link,
      "-hover": hover,
      "-hover-border": hover,
      "-hover-underline": hover,
      "-focus": link
    })
  return `:root:root{${ofTheme(write(rgb), darker)}}`
    + `@media screen and (prefers-color-scheme:dark){:root:root{${ofTheme(write(shade), lighter)}}}`
}

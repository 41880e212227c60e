/** A short description of a browser, by which its user recognizes a session. The raw `User-Agent` is not stored. */

/** The first pattern that fits. Most browsers also name those whose pages they imitate. */
const nameIn = (userAgent: string, names: ReadonlyArray<readonly [pattern: RegExp, name: string]>): string =>
  names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? ""

const browsers = [
  [/Edg(?:e|A|iOS)?\//, "Edge"],
  [/OPR\/|Opera/, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|Chromium\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"]
] as const

const systems = [
  [/iPhone|iPod/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"]
] as const

/** Browser and system of a `User-Agent`: `Firefox, Windows`. Empty if neither is known. */
export const describe = (userAgent = ""): string => {
  const start = userAgent.slice(0, 500)
  return [nameIn(start, browsers), nameIn(start, systems)].filter((name) => name !== "").join(", ")
}

/** Finds variables whose names are nearly those of settings. */
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as PathPatch from "effect/ConfigProviderPathPatch"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HashSet from "effect/HashSet"
import { distance } from "fastest-levenshtein"

/** A variable, and the setting that is probably meant. */
export interface Misspelt {
  readonly given: string
  readonly meant: string
}

/** The names that a configuration reads, if all of them are optional. */
export const namesOf = (config: Config.Config<unknown>): ReadonlySet<string> => {
  const names = new Set<string>()
  const empty = ConfigProvider.fromFlat(ConfigProvider.makeFlat({
    load: (path) =>
      Effect.suspend(() => {
        const name = path.join("_")
        names.add(name)
        return Effect.fail(ConfigError.MissingData([...path], "is not set"))
      }),
    enumerateChildren: () => Effect.succeed(HashSet.empty()),
    patch: PathPatch.empty
  }))
  Effect.runSync(Effect.ignore(empty.load(config)))
  return names
}

/** Maximum edit distance. Short names are near to many others: HOME is not HOST. */
const tolerance = (name: string): number => name.length > 6 ? 2 : 1

/** Misspelt variables, in the order of their names. */
export const find = (variables: Iterable<string>, settings: ReadonlySet<string>): ReadonlyArray<Misspelt> => {
  const given = new Set(variables)
  const open = [...settings].filter((name) => !given.has(name))
  return [...given].filter((name) => !settings.has(name)).sort().flatMap((name) => {
    const meant = open.find((setting) => distance(name.toUpperCase(), setting) <= tolerance(setting))
    return meant === undefined ? [] : [{ given: name, meant }]
  })
}

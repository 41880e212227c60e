/** Chooses the fault of the next request: by script, or at random from a seed. */
import * as Effect from "effect/Effect"
import { PCGRandom } from "effect/Utils"

/** Random faults. The same seed and the same requests give the same faults. */
export interface Chance<F> {
  readonly seed: number
  /** Between 0 and 1: the probability of a fault for each request. */
  readonly probability: number
  /** The faults from which one is drawn. */
  readonly faults: ReadonlyArray<F>
}

/** Chooses the faults while a test runs. */
export interface Control<F> {
  /** Gives each of the next requests (those whose URL contains `url`, if given) one fault; `undefined` for no fault. */
  readonly next: (faults: ReadonlyArray<F | undefined>, url?: string) => Effect.Effect<void>
  /** Gives all other requests (those whose URL contains `url`, if given) this fault from now on. */
  readonly always: (fault: F, url?: string) => Effect.Effect<void>
  /** Ends all faults, scripted and random ones. */
  readonly none: Effect.Effect<void>
}

export interface Plan<F> {
  readonly control: Control<F>
  /** The fault of this request. */
  readonly decide: (url: string) => F | undefined
}

export const make = <F>(chance?: Chance<F>): Plan<F> => {
  const random = new PCGRandom(chance?.seed ?? 0)
  let isByChance = chance !== undefined
  let scripts: Array<{ readonly url: string; readonly fault: F | undefined }> = []
  let rules: Array<{ readonly url: string; readonly fault: F }> = []

  const draw = (): F | undefined => {
    if (!isByChance || chance === undefined || random.number() >= chance.probability) return undefined
    return chance.faults[random.integer(chance.faults.length)]
  }

  return {
    control: {
      next: (faults, url = "") => Effect.sync(() => void scripts.push(...faults.map((fault) => ({ url, fault })))),
      always: (fault, url = "") => Effect.sync(() => void rules.unshift({ url, fault })),
      none: Effect.sync(() => {
        scripts = []
        rules = []
        isByChance = false
      })
    },
    decide: (url) => {
      const place = scripts.findIndex((script) => url.includes(script.url))
      if (place >= 0) return scripts.splice(place, 1)[0]?.fault
      return rules.find((rule) => url.includes(rule.url))?.fault ?? draw()
    }
  }
}

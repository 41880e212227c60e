/** Which fault befalls the next request: by script, or by chance from a seed. */
import * as Effect from "effect/Effect"
import { PCGRandom } from "effect/Utils"

/** Faults by chance. The same seed and the same requests give the same faults. */
export interface Chance<F> {
  readonly seed: number
  /** Between 0 and 1, for each request. */
  readonly probability: number
  /** One of them is drawn. */
  readonly faults: ReadonlyArray<F>
}

/** Chooses the faults while a test runs. */
export interface Control<F> {
  /** The next requests meet these faults, one each; `undefined` is none. With `url`, requests whose URL contains it. */
  readonly next: (faults: ReadonlyArray<F | undefined>, url?: string) => Effect.Effect<void>
  /** From now on, requests for which `next` says nothing meet this fault. With `url`, those whose URL contains it. */
  readonly always: (fault: F, url?: string) => Effect.Effect<void>
  /** No more faults, neither by script nor by chance. */
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

/** The models that agree with all answers of a program. Those that are left differ in what is not known yet. */
import * as Arr from "effect/Array"
import { alike } from "./expecting.ts"
import type { Judge } from "./storeCall.ts"
import { StoreModel } from "./storeModel.ts"

/** All orders of these. */
export const ordersOf = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.length === 0 ? [[]] : all.flatMap((one, place) => ordersOf(Arr.remove(all, place)).map((rest) => [one, ...rest]))

/** Copies of the models that agree with some of these orders. Throws if none does. */
export const agreeing = (models: ReadonlyArray<StoreModel>, ...orders: ReadonlyArray<ReadonlyArray<Judge>>) => {
  let wrong: unknown
  const agree = models.flatMap((model) =>
    orders.flatMap((order) => {
      const copy = new StoreModel(model)
      try {
        order.forEach((one) => one(copy))
        return [copy]
      } catch (error) {
        wrong ??= error
        return []
      }
    })
  )
  if (agree.length === 0) throw wrong
  return Arr.dedupeWith(agree, (one, other) => one.isLike(other))
}

export class StoreModels {
  all: ReadonlyArray<StoreModel> = [new StoreModel()]

  get first(): StoreModel {
    return this.all[0] ?? new StoreModel()
  }

  /** Leaves those that agree with some of these orders. */
  judge(...orders: ReadonlyArray<ReadonlyArray<Judge>>): void {
    this.all = agreeing(this.all, ...orders)
  }

  /** Whether a find shows the same in all of them. */
  areAlike(expected: (model: StoreModel) => unknown, others = this.all): boolean {
    const [first, ...rest] = others.map(expected)
    return rest.every((one) => alike(first, one))
  }
}

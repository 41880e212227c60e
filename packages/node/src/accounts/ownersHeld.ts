/** Core's `Applications`, whose owner cannot be erased while they get an application. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Applications } from "@startlist/core/Applications"
import type { StoreError } from "@startlist/core/Store"
import type { UserId } from "@startlist/core/User"
import { Database } from "@startlist/postgres/Database"
import { AccountErasure } from "./AccountErasure.ts"

const make = Effect.gen(function*() {
  const applications = yield* Applications
  const { hold } = yield* AccountErasure
  const { transaction } = yield* Database
  const holding = <A, E>(ownerId: UserId | undefined, change: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
    ownerId === undefined ? change : transaction(Effect.zipRight(hold(ownerId), change))
  return Applications.of({
    ...applications,
    create: (ownerId, ...given) => holding(ownerId, applications.create(ownerId, ...given)),
    change: (id, settings) => holding(settings.ownerId, applications.change(id, settings))
  })
})

/** Replaces the `Applications` that it is provided with. */
export const layer: Layer.Layer<Applications, never, Applications | Database | AccountErasure> = Layer.effect(
  Applications,
  make
)

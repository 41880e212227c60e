/** A test with a new service in memory, two users and an application. */
import { it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { layer, type Options } from "./Service.ts"
import * as World from "./World.ts"

export type TestWorld = Effect.Effect.Success<typeof World.make>

export const testing = <A, E>(
  name: string,
  test: (world: TestWorld) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layer>>>,
  options: Options = {}
) => it.effect(name, () => Effect.provide(Effect.flatMap(World.make, test), layer(options)))

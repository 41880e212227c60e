/** The embedded database in temporary folders. */
import type { User } from "@startlist/core"
import { Embedded, Users } from "@startlist/postgres"
import { Effect, Layer, Option } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"
import { temporaryFolder } from "@startlist/test-support/TemporaryFolder"

/** The stores and the users of a folder. */
export const open = (folder: string, options: Partial<Embedded.Options> = {}) =>
  Users.layer.pipe(Layer.provideMerge(Embedded.layerWith({ folder, ...options })), Layer.provide(fixtures.seal))

/** The same in a new folder. */
export const opened = Layer.unwrapScoped(Effect.map(temporaryFolder, (folder) => open(folder)))

/** Runs a test with the path of a new folder. */
export const inFolder = <A, E, R>(test: (folder: string) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(temporaryFolder, test))

/** Inserts a user. */
export const insert = Effect.flatMap(
  Users.Users,
  (users) => users.insert({ role: "athlete", email: "a@a.test", firstName: "A", lastName: "B" })
)

export const isThere = (id: User.UserId) =>
  Effect.flatMap(Users.Users, (users) => Effect.map(users.find(id), Option.isSome))

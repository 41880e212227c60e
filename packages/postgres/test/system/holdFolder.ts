/** A program that keeps an embedded database open: prints `ready` or an error, and writes users until it is killed. */
import { Embedded, Users } from "@startlist/postgres"
import { Effect, Layer } from "effect"
import * as fixtures from "@startlist/test-support/StoreFixtures"

const folder = process.argv[2] ?? ""

const program = Effect.gen(function*() {
  const users = yield* Users.Users
  console.log("ready")
  for (let index = 0;; index++) {
    const user = yield* users.insert({
      role: "athlete",
      email: `${process.pid}-${index}@a.test`,
      firstName: "A",
      lastName: "B"
    })
    console.log(`saved ${user.id}`)
  }
}).pipe(
  Effect.provide(Users.layer.pipe(Layer.provide(Embedded.layerWith({ folder })), Layer.provide(fixtures.seal))),
  Effect.catchAll((error) => Effect.sync(() => console.log(error.message)))
)

await Effect.runPromise(program)

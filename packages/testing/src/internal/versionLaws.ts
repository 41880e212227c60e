/** Laws of versions: a save is accepted over the version before it, and no other. */
import { ApplicationId } from "@startlist/core/Application"
import { RegistrationId } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { Stores } from "@startlist/core/Stores"
import { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Law, law, type LawGroup } from "../Law.ts"
import { same, tagOf } from "./expecting.ts"
import { plain } from "./plain.ts"
import * as scenes from "./scenes.ts"
import { alone, look, type MakeScene, staged } from "./stage.ts"
import { storeLaw } from "./storeLaw.ts"

/** Every kind of save over a version, by the version that is stored before it. A grant is stored by its first save. */
const saves: ReadonlyArray<readonly [MakeScene, before: number, ReadonlyArray<string>]> = [
  [scenes.records, 0, ["a first save of a grant"]],
  [scenes.records, 1, ["a save of a grant", "a revocation", "a save of a registration"]],
  [scenes.application, 1, [
    "a renewal of a grant",
    "a save of an application",
    "a suspension",
    "the end of the application",
    "a revocation of all grants",
    "a save of signing secrets",
    "a save of a subscription",
    "a pause"
  ]],
  [scenes.after(scenes.application, "a suspension"), 2, ["a restoration"]],
  [scenes.after(scenes.application, "a pause"), 2, ["a resumption"]]
]

const versionLaw = (makeScene: MakeScene, before: number, operation: string): Law<Stores> =>
  law(
    `${operation} is accepted over the version before it and no other, and a refused one leaves nothing`,
    () =>
      Effect.gen(function*() {
        const stage = yield* staged(makeScene, yield* alone)
        const [f] = stage.handles
        const present = yield* look(stage, f)
        for (const version of [before, before + 2].filter((version) => version > 0)) {
          same(yield* stage.run(operation, f, 1, version), "Conflict", `version ${version} over version ${before}`)
        }
        same(yield* look(stage, f), present, "what is there after a refused save")
        same(yield* stage.run(operation, f, 1, before + 1), null, "the save")
        const saved = yield* look(stage, f)
        for (const version of [before, before + 1, before + 3].filter((version) => version > 0)) {
          same(yield* stage.run(operation, f, 2, version), "Conflict", `version ${version} over version ${before + 1}`)
          same(yield* look(stage, f), saved, "what is there after a refused save")
        }
        yield* stage.cleanUp
      })
  )

export const versionLaws: LawGroup<Stores> = {
  about: "versions",
  laws: [
    ...saves.flatMap(([makeScene, before, names]) => names.map((name) => versionLaw(makeScene, before, name))),
    storeLaw("a record that was never stored cannot be saved over a version, and queues nothing", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const registration = yield* f.registration(yield* f.user())
      const secrets = yield* f.signingSecrets(app)
      const id = ApplicationId.make(maxId)
      for (const version of [1, 2]) {
        const saves = [
          f.applications.save({ ...app, id, version }),
          f.applications.saveSigningSecrets({ ...secrets, applicationId: id, version }),
          f.registrations.save(
            { ...registration, id: RegistrationId.make(maxId), version },
            f.outgoing(app, f.event(1))
          ),
          f.subscriptions.save({ ...subscription, id: SubscriptionId.make(maxId), version })
        ]
        for (const save of saves) same(yield* tagOf(save), "Conflict", `version ${version}`)
      }
      same(yield* f.applications.find(id), Option.none())
      same(yield* f.applications.findSigningSecrets(id), Option.none())
      same(yield* f.registrations.find(RegistrationId.make(maxId)), Option.none())
      same(yield* f.listed(app), [])
    }),
    storeLaw("what was found does not change with later operations", function*(f) {
      for (const makeScene of [scenes.records, scenes.queue]) {
        const { operations, parts }: scenes.Scene = yield* makeScene(f)
        const found = yield* Effect.all(parts(f))
        const before = plain(found)
        // Those that end the application or its subscription are the last.
        for (const operation of Object.values(operations).reverse()) yield* Effect.either(operation(f, 1))
        same(found, before)
        yield* f.cleanUp
      }
    })
  ]
}

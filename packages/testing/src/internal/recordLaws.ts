/** Laws of texts in every record, and of what was found. */
import type { Stores } from "@startlist/core/Stores"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import type { LawGroup } from "../Law.ts"
import { same } from "./expecting.ts"
import { start } from "./fixture.ts"
import { plain } from "./plain.ts"
import * as scenes from "./scenes.ts"
import { storeLaw } from "./storeLaw.ts"

export const recordLaws: LawGroup<Stores> = {
  about: "records",
  laws: [
    storeLaw("texts that some store has damaged before are stored exactly, in every field", function*(f) {
      const { app, subscription } = yield* f.subscribed
      const owner = yield* f.user()
      const { id: _, version: __, ...given } = yield* f.registration(owner)
      for (const text of Arbitraries.notorious) {
        const updates = {
          platform_id: text,
          registration_status: text,
          document_type: text,
          document_status: text,
          reasons: [text, text, ""],
          comment: text
        }
        const inserted = yield* f.registrations.insert({ ...given, updates })
        same(inserted, { ...given, updates, id: inserted.id, version: 1 })
        same(yield* f.registrations.find(inserted.id), inserted)
        const event = f.event(inserted.id, start, { updates, trace: Option.some(text) })
        yield* f.change(inserted, f.outgoing(app, event))
        same((yield* f.listed(app)).at(-1)?.event, event)
      }
      const all = Arbitraries.notorious.filter((text) => text !== "")
      const codes = all.map((text) =>
        f.code({ redirectUri: text, state: Option.some(text), challenge: Option.some(text) })
      )
      const grant = yield* f.grant(app, owner, { codes: [...codes, f.code({ state: Option.some("") })] })
      same(yield* f.findGrant(app.id, owner.id), grant)
      const secrets = all.map((text) => ({ value: Redacted.make(text), expiresAt: Option.none() }))
      const signing = { applicationId: app.id, version: 2, secrets }
      yield* f.applications.saveSigningSecrets(signing)
      same(yield* f.signingSecrets(app), signing)
      for (const [place, text] of all.entries()) {
        const links = { website: text, privacyPolicy: text, logo: text }
        const renamed = { ...app, name: `(${text})`, redirectUris: all, links, version: place + 2 }
        yield* f.applications.save(renamed)
        same(yield* f.applications.find(app.id), renamed)
        const moved = { ...subscription, callbackUrl: text, version: place + 2 }
        yield* f.subscriptions.save(moved)
        same(yield* f.subscriptions.findByApplication(app.id), moved)
      }
      const withoutLinks = { ...app, links: {}, version: all.length + 2 }
      yield* f.applications.save(withoutLinks)
      same(yield* f.applications.find(app.id), withoutLinks, "empty links")
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

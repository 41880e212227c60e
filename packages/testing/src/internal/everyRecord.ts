/** A record of each kind, with all saves and finds of them. */
import * as Effect from "effect/Effect"
import { tagOf } from "./expecting.ts"
import { early, type Fixture, only } from "./fixture.ts"

export const everyRecord = (f: Fixture) =>
  Effect.gen(function*() {
    const owner = yield* f.user()
    const { app, subscription } = yield* f.subscribed
    const [grant, secrets] = [yield* f.grant(app, owner), yield* f.signingSecrets(app)]
    const registration = yield* f.registration(owner)
    const [id] = yield* f.enqueue(app, [f.event(3)])
    return {
      app,
      subscription,
      /** Saves each at version 2. Returns the tag of each failure, or "success". */
      saves: (by: Fixture) =>
        Effect.forEach([
          by.applications.save({ ...app, name: "next", version: 2 }),
          by.applications.saveSigningSecrets({ ...secrets, version: 2 }),
          by.subscriptions.save({ ...subscription, callbackUrl: "https://next.example.test", version: 2 }),
          by.grants.save(only({ ...grant, scope: ["next"], version: 2 })),
          by.registrations.save({ ...registration, version: 2 }, f.outgoing(app, ...f.events([1, 2], early)))
        ], tagOf),
      finds: (by: Fixture) =>
        Effect.all([
          by.applications.find(app.id),
          by.applications.findSigningSecrets(app.id),
          by.subscriptions.findByApplication(app.id),
          by.grants.find(app.id, owner.id),
          by.grants.listByUser(owner.id),
          by.registrations.find(registration.id),
          by.listed(app),
          ...id === undefined ? [] : [by.deliveries.find(id)],
          by.deliveries.log({ applicationId: app.id, after: 0, limit: 100 })
        ])
    }
  })

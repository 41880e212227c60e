/** Scenes of records that have versions. A scene has records, operations on them, and everything that finds return. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { first } from "@startlist/core/ApplicationSecret"
import { Audience } from "@startlist/core/Event"
import { emptyUpdates, RegistrationId } from "@startlist/core/Registration"
import { at, type Fixture } from "./fixture.ts"

export type Run = Effect.Effect<unknown, unknown>

export interface Scene {
  /** By name. Values differ in every field between two `n`. Saves return nothing. */
  readonly operations: Readonly<Record<string, (by: Fixture, n: number, version?: number) => Run>>
  /** Everything that a handle can see, by name. */
  readonly parts: (by: Fixture) => Readonly<Record<string, Run>>
  /** Makes the claims again: a claim skips what another operation has locked. */
  readonly claimAgain?: Run
  /**
   * Claims and settles until nothing is left. Returns the object and the number of each claim. Other scenes have no
   * deliveries that are due before those of other laws.
   */
  readonly rest?: (by: Fixture) => Run
}

/** The same scene after some of its operations. */
export const after =
  (makeScene: (f: Fixture) => Effect.Effect<Scene, unknown>, ...names: ReadonlyArray<string>) => (f: Fixture) =>
    Effect.tap(
      makeScene(f),
      ({ operations }) =>
        Effect.forEach(names, (name) => operations[name]?.(f, 1) ?? Effect.dieMessage(`no operation "${name}"`))
    )

/** A subscribed application, and the operations of its subscription. */
export const subscribed = (f: Fixture) =>
  Effect.map(f.subscribed, ({ app, subscription }) => {
    const operations = {
      // Circumstances of other operations. Nothing but claims depends on them.
      "a suspension": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.applications.save({ ...app, state: "suspended", version })),
      "a restoration": (by: Fixture, _: number, version = 3) =>
        Effect.asVoid(by.applications.save({ ...app, version })),
      "the end of the application": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.applications.save({ ...app, state: "ended", secrets: [], redirectUris: [], version })),
      "a pause": (by: Fixture, _: number, version = 2) =>
        Effect.asVoid(by.subscriptions.save({ ...subscription, paused: true, version })),
      "a resumption": (by: Fixture, _: number, version = 3) =>
        Effect.asVoid(by.subscriptions.save({ ...subscription, paused: false, version })),
      "a removal of a subscription": (by: Fixture, n: number) => by.subscriptions.remove(subscription.id, at(n)),
      "an insertion of a subscription": (by: Fixture, n: number) =>
        Effect.map(by.subscription(app, `https://${n}.example.test`), ({ id }) => id !== subscription.id)
    }
    const parts = (by: Fixture) => ({
      subscription: Effect.map(by.subscriptions.findByApplication(app.id), (found) => [
        found,
        Option.map(found, ({ id }) => id === subscription.id)
      ]),
      deliveries: by.listed(app)
    })
    return { app, operations, parts, subscription }
  })

/** An application with a subscription and a grant, and the operations of the application. */
export const application = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, operations, parts, subscription } = yield* subscribed(f)
    const owner = yield* f.user()
    const grant = yield* f.grant(app, owner, { codes: [f.code()], refresh: Option.some(f.refresh()) })
    const secrets = yield* f.signingSecrets(app)
    const fields = (n: number) => ({
      scope: [`scope:${n}`],
      epoch: n + 1,
      generation: n,
      lineStart: n + 1,
      role: n % 2 === 0 ? "athlete" : "organizer",
      grantedAt: at(n),
      refresh: Option.some(f.refresh({ issuedAt: at(n), expiresAt: at(n + 9) })),
      access: [8, 9].map((seconds) => f.access({ createdAt: at(n), expiresAt: at(n + seconds) })),
      codes: [f.code(), f.code({ redeemed: n % 2 === 0 ? Option.some({ at: at(n), line: n }) : Option.none() })]
    } as const)

    return {
      app,
      fields,
      grant,
      owner,
      operations: {
        ...operations,
        "a revocation of all grants": (by: Fixture, _: number, version = 2) =>
          Effect.asVoid(by.applications.save({ ...app, epoch: app.epoch + 1, version })),
        "a renewal of a grant": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({
            grant: { ...grant, ...fields(n), applicationEpoch: app.epoch + 1, version },
            outgoing: []
          })),
        "a save of an application": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.applications.save({
            ...app,
            version,
            name: `name ${n}`,
            redirectUris: [`https://app.example.test/${n}`, "https://app.example.test/callback"],
            requirePkce: n % 2 === 1,
            links: n % 2 === 1 ? { website: `https://app.example.test/${n}` } : {},
            secrets: [Option.none(), Option.some(at(n))].map((expiresAt) => ({ number: n, hash: f.hash(), expiresAt }))
          })),
        "a save of signing secrets": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.applications.saveSigningSecrets({
            ...secrets,
            version,
            secrets: [Option.none(), Option.some(at(n))].map((expiresAt) => ({
              number: n,
              value: Redacted.make(f.name("whsec")),
              expiresAt
            }))
          })),
        "a save of a subscription": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.subscriptions.save({
            ...subscription,
            version,
            callbackUrl: `https://app.example.test/${n}`,
            updatedAt: at(n)
          })),
        "an insertion of an application": (by: Fixture, n: number) => {
          const { id: _, ...given } = {
            ...app,
            name: `name ${n}`,
            secrets: [{ ...first, hash: f.hash() }]
          }
          return Effect.map(by.applications.insert(given, Redacted.make("whsec")), ({ id }) => id > app.id)
        }
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        grant: by.grants.find(app.id, owner.id),
        "grants of a user": by.grants.listByUser(owner.id),
        application: by.applications.find(app.id),
        applications: Effect.flatMap(
          by.applications.list({ owner: Option.some(app.ownerId), after: Option.none(), limit: 9 }),
          Effect.forEach((one) => Effect.map(by.applications.findSigningSecrets(one.id), (secrets) => [one, secrets]))
        ),
        "signing secrets": by.applications.findSigningSecrets(app.id)
      })
    }
  })

/** The same application, by lists. */
export const lists = (f: Fixture) =>
  Effect.map(application(f), ({ app, operations }): Scene => ({
    operations,
    parts: (by) => ({
      "grants of the application": by.grants.listByApplication(app.id, 9),
      "applications of the owner": by.applications.list({
        owner: Option.some(app.ownerId),
        after: Option.none(),
        limit: 9
      })
    })
  }))

/** An application without a subscription. After its end, only an insertion that was before it is found. */
export const unsubscribed = (f: Fixture) =>
  Effect.map(f.application(), (app): Scene => ({
    operations: {
      "a first insertion of a subscription": (by, n) =>
        Effect.asVoid(by.subscription(app, `https://${n}.example.test`)),
      "the end of the application": (by) =>
        Effect.zipRight(
          by.applications.save({ ...app, state: "ended", version: 2 }),
          Effect.map(by.subscriptions.findByApplication(app.id), Option.isSome)
        )
    },
    parts: (by) => ({ subscription: by.subscriptions.findByApplication(app.id) })
  }))

/** All records that have versions, and two applications that are notified of their changes. */
export const records = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, fields, grant, operations, owner, parts } = yield* application(f)
    const { app: other } = yield* f.subscribed
    const stranger = yield* f.user()
    const bystanders = yield* Effect.replicateEffect(f.user(), 9)
    const otherGrant = yield* f.grant(other, owner)
    const registration = yield* f.registration(owner)

    const outgoing = (n: number) => [
      ...f.outgoing(app, f.event(n), f.event(n + 10)),
      {
        event: f.event(n + 20),
        audience: Audience.GrantedBy({ userIds: [...bystanders.map(({ id }) => id), owner.id] })
      },
      ...f.outgoing(other, f.event(n + 30))
    ]
    return {
      app,
      operations: {
        ...operations,
        "a save of a grant": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({ grant: { ...grant, ...fields(n), version }, outgoing: outgoing(n) })),
        "a save of a grant to another application": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({ grant: { ...otherGrant, ...fields(n), version }, outgoing: [] })),
        "a first save of a grant": (by: Fixture, n: number, version = 1) =>
          Effect.asVoid(by.grants.save({
            grant: f.newGrant(app, stranger, { ...fields(n), version }),
            outgoing: outgoing(n)
          })),
        "a revocation": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({
            grant: { ...grant, status: "revoked", codes: [], refresh: Option.none(), version },
            outgoing: outgoing(n)
          })),
        "a consent after the revocation": (by: Fixture, n: number, version = 3) =>
          Effect.asVoid(by.grants.save({ grant: { ...grant, ...fields(n), version }, outgoing: [] })),
        "a save of a registration": (by: Fixture, n: number, version = 2) => {
          const updates = { ...registration.updates, comment: `comment ${n}`, registration_status: `status ${n}` }
          return Effect.asVoid(by.registrations.save({ ...registration, updates, version }, outgoing(n)))
        },
        "a save of a registration without events": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.registrations.save({
            ...registration,
            updates: { ...registration.updates, comment: `comment ${n}` },
            version
          }, [])),
        "enqueueing several events": (by: Fixture, n: number) =>
          Effect.asVoid(by.deliveryQueue.enqueue([...outgoing(n), ...f.outgoing(other, f.event(n))])),
        "an insertion of a registration": (by: Fixture, n: number) => {
          const updates = { ...emptyUpdates, comment: `comment ${n}` }
          return Effect.map(
            by.registration(owner, { organizerId: stranger.id, updates }),
            ({ id, version }) => [id > registration.id, version]
          )
        }
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        "deliveries of another application": by.listed(other),
        "first grant": by.findGrant(app.id, stranger.id),
        registration: by.registrations.find(registration.id),
        // Stores that give numbers in their order.
        "next registration": by.registrations.find(RegistrationId.make(registration.id + 1))
      })
    } satisfies Scene & { readonly app: unknown }
  })

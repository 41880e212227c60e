/** Records for which operations race: the operations, and everything that finds return. */
import * as AccessTokens from "@startlist/core/AccessTokens"
import { Audience } from "@startlist/core/Event"
import { emptyUpdates, RegistrationId } from "@startlist/core/Registration"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { sorted } from "./expecting.ts"
import { at, type Fixture, following, objectsOf, settled } from "./fixture.ts"

type Run = Effect.Effect<unknown, unknown>

export interface Scene {
  /** By name. Values differ in every field between two `n`. Saves return nothing. */
  readonly operations: Readonly<Record<string, (by: Fixture, n: number, version?: number) => Run>>
  /** Everything that a handle can see, by name. */
  readonly parts: (by: Fixture) => Readonly<Record<string, Run>>
  /** Makes the claims again: a claim skips what another operation has locked. */
  readonly claimAgain?: Run
  /** Claims and settles until nothing is left. Returns the object and the number of each claim. */
  readonly rest: (by: Fixture) => Run
}

/** Before the deliveries of other laws: nothing else is due then. */
export const early = at(-1000)

/** Before the ends of other laws' deliveries. */
const long = at(-1e9)

/** The same scene after some of its operations. */
export const after =
  (makeScene: (f: Fixture) => Effect.Effect<Scene, unknown>, ...names: ReadonlyArray<string>) => (f: Fixture) =>
    Effect.tap(
      makeScene(f),
      ({ operations }) =>
        Effect.forEach(names, (name) => operations[name]?.(f, 1) ?? Effect.dieMessage(`no operation "${name}"`))
    )

/** A subscribed application, and the operations of its subscription and its queue. */
const subscribed = (f: Fixture) =>
  Effect.map(f.subscribed, ({ app, subscription }) => {
    const claim = (by: Fixture, seconds: number) =>
      Effect.map(
        by.claim({ now: at(seconds), leaseEnds: at(seconds + 15) }),
        (found) => found.filter((one) => one.subscription.id === subscription.id)
      )
    const rest = (by: Fixture) =>
      Effect.gen(function*() {
        const all: Array<readonly [object: number, claims: number]> = []
        for (let round = 0; round < 6; round++) {
          const claimed = yield* claim(by, -900 + 20 * round)
          if (claimed.length === 0) break
          all.push(...claimed.map(({ claims, delivery }) => [delivery.event.objectId, claims] as const))
          yield* by.deliveryQueue.settle(settled(claimed))
        }
        return all.sort(([a, m], [b, n]) => a - b || m - n)
      })
    const operations = {
      // Circumstances of other operations. Nothing but claims depends on them.
      "a suspension": (by: Fixture) => Effect.asVoid(by.applications.save({ ...app, state: "suspended", version: 2 })),
      "the end of the application": (by: Fixture) =>
        Effect.asVoid(by.applications.save({ ...app, state: "ended", secrets: [], redirectUris: [], version: 2 })),
      "a pause": (by: Fixture) => Effect.asVoid(by.subscriptions.save({ ...subscription, paused: true, version: 2 })),
      "a resumption": (by: Fixture) =>
        Effect.asVoid(by.subscriptions.save({ ...subscription, paused: false, version: 3 })),
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
    return { app, claim, operations, parts, rest, subscription }
  })

/** Records that have versions, and two applications that are notified of their changes. */
export const records = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, operations, parts, rest, subscription } = yield* subscribed(f)
    const { app: other } = yield* f.subscribed
    const [owner, stranger] = [yield* f.user(), yield* f.user()]
    const bystanders = yield* Effect.replicateEffect(f.user(), 9)
    const grant = yield* f.grant(app, owner, { codes: [f.code()], refresh: Option.some(f.refresh()) })
    const otherGrant = yield* f.grant(other, owner)
    const registration = yield* f.registration(owner)
    const secrets = yield* f.signingSecrets(app)
    const silent = yield* f.application()

    const outgoing = (n: number) => [
      ...f.outgoing(app, f.event(n), f.event(n + 10)),
      {
        event: f.event(n + 20),
        audience: Audience.GrantedBy({ userIds: [...bystanders.map(({ id }) => id), owner.id] })
      },
      ...f.outgoing(other, f.event(n + 30))
    ]
    const fields = (n: number) => ({
      scope: [`scope:${n}`],
      epoch: n + 1,
      generation: n,
      role: n % 2 === 0 ? "athlete" : "organizer",
      grantedAt: at(n),
      refresh: Option.some(f.refresh({ issuedAt: at(n), expiresAt: at(n + 9) })),
      access: AccessTokens.fromArray(
        [8, 9].map((seconds) => f.access({ createdAt: at(n), expiresAt: at(n + seconds) }))
      ),
      codes: [f.code(), f.code({ redeemed: n % 2 === 0 })]
    } as const)

    return {
      app,
      rest,
      operations: {
        ...operations,
        "a revocation of all grants": (by: Fixture) =>
          Effect.asVoid(by.applications.save({ ...app, epoch: app.epoch + 1, version: 2 })),
        "a save of a grant": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({ grant: { ...grant, ...fields(n), version }, outgoing: outgoing(n) })),
        "a save of a grant to another application": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.grants.save({ grant: { ...otherGrant, ...fields(n), version }, outgoing: [] })),
        "a renewal of a grant": (by: Fixture, n: number) =>
          Effect.asVoid(by.grants.save({
            grant: following(grant, { ...fields(n), applicationEpoch: app.epoch + 1 }),
            outgoing: []
          })),
        "a first save of a grant": (by: Fixture, n: number, version = 1) =>
          Effect.asVoid(by.grants.save({
            grant: f.newGrant(app, stranger, { ...fields(n), version }),
            outgoing: outgoing(n)
          })),
        "a revocation": (by: Fixture, n: number) =>
          Effect.asVoid(by.grants.save({
            grant: following(grant, { status: "revoked", codes: [], refresh: Option.none() }),
            outgoing: outgoing(n)
          })),
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
        "a save of an application": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.applications.save({
            ...app,
            version,
            name: `name ${n}`,
            redirectUris: [`https://app.example.test/${n}`, "https://app.example.test/callback"],
            requirePkce: n % 2 === 1,
            links: n % 2 === 1 ? { website: `https://app.example.test/${n}` } : {},
            secrets: [Option.none(), Option.some(at(n))].map((expiresAt) => ({ hash: f.hash(), expiresAt }))
          })),
        "a save of signing secrets": (by: Fixture, n: number, version = 2) =>
          Effect.asVoid(by.applications.saveSigningSecrets({
            ...secrets,
            version,
            secrets: [Option.none(), Option.some(at(n))].map((expiresAt) => ({
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
        "enqueueing several events": (by: Fixture, n: number) =>
          Effect.asVoid(by.deliveryQueue.enqueue([...outgoing(n), ...f.outgoing(other, f.event(n))])),
        "a first insertion of a subscription": (by: Fixture, n: number) =>
          Effect.asVoid(by.subscription(silent, `https://${n}.example.test`)),
        "an insertion of a registration": (by: Fixture, n: number) => {
          const updates = { ...emptyUpdates, comment: `comment ${n}` }
          return Effect.map(
            by.registration(owner, { organizerId: stranger.id, updates }),
            ({ id, version }) => [id > registration.id, version]
          )
        },
        "an insertion of an application": (by: Fixture, n: number) => {
          const { id: _, ...given } = {
            ...app,
            name: `name ${n}`,
            secrets: [{ hash: f.hash(), expiresAt: Option.none() }]
          }
          return Effect.map(by.applications.insert(given, Redacted.make("whsec")), ({ id }) => id > app.id)
        }
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        "deliveries of another application": by.listed(other),
        grant: by.grants.find(app.id, owner.id),
        "grants of a user": by.grants.listByUser(owner.id),
        "first grant": by.findGrant(app.id, stranger.id),
        application: by.applications.find(app.id),
        applications: Effect.flatMap(
          by.applications.list({ owner: Option.some(app.ownerId), after: Option.none(), limit: 9 }),
          Effect.forEach((one) => Effect.map(by.applications.findSigningSecrets(one.id), (secrets) => [one, secrets]))
        ),
        "signing secrets": by.applications.findSigningSecrets(app.id),
        registration: by.registrations.find(registration.id),
        // Stores that give numbers in their order.
        "next registration": by.registrations.find(RegistrationId.make(registration.id + 1)),
        "first subscription": by.subscriptions.findByApplication(silent.id)
      })
    } satisfies Scene & { readonly app: unknown }
  })

/** The same records, by their lists. */
export const lists = (f: Fixture) =>
  Effect.map(records(f), ({ app, operations, rest }): Scene => ({
    rest,
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

/** Deliveries of an application: two are claimed, one has ended, one waits for its predecessor, one is due. */
export const queue = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, claim, operations, parts, rest } = yield* subscribed(f)
    yield* f.enqueue(app, f.events([1, 2, 3], early))
    const [one, two, three] = yield* claim(f, -1000)
    if (one === undefined || two === undefined || three === undefined) {
      return yield* Effect.dieMessage("three deliveries are due, but fewer were claimed")
    }
    yield* f.deliveryQueue.settle(settled([three], { state: "delivered", endedAt: Option.some(long) }))
    yield* f.enqueue(app, f.events([1, 4], early))

    // The results of all claims and purges together: any of them may get a delivery.
    const claimed: Array<number> = []
    let purged = 0
    const claims: Array<Run> = []
    const claimAt = (seconds: number) => (by: Fixture) => {
      const once = Effect.map(claim(by, seconds), (found) => void claimed.push(...objectsOf(found)))
      return Effect.zipRight(Effect.sync(() => claims.push(once)), once)
    }
    const outcome = (n: number) => {
      const attempt = { at: at(n), durationMs: n, outcome: "rejected", status: Option.some(500), detail: "" } as const
      const attempts = [attempt]
      if (n === 3) return { attempts, dueAt: at(-960) }
      return { attempts, state: n === 1 ? "delivered" : "exhausted", endedAt: Option.some(at(n)) } as const
    }
    const sizeOf = Effect.map((ids: ReadonlyArray<unknown>) => ids.length)
    return {
      app,
      rest,
      claimAgain: Effect.suspend(() => Effect.all(claims)),
      operations: {
        ...operations,
        "a settlement": (by: Fixture, n: number) => sizeOf(by.deliveryQueue.settle(settled([one], outcome(n)))),
        "a settlement of a later delivery": (by: Fixture, n: number) =>
          sizeOf(by.deliveryQueue.settle(settled([two], outcome(n)))),
        "settling several deliveries": (by: Fixture, n: number) =>
          sizeOf(by.deliveryQueue.settle(settled([one, two], outcome(n)))),
        "a release": (by: Fixture) => sizeOf(by.deliveryQueue.release([one], at(-960))),
        "releasing several claims": (by: Fixture) => sizeOf(by.deliveryQueue.release([one, two], at(-960))),
        "a claim": claimAt(-999),
        "a claim after the leases": claimAt(-980),
        "a delivery again": (by: Fixture, n: number) =>
          Effect.map(by.deliveryQueue.again(three.delivery, at(n - 970)), Option.isSome),
        "a cancellation": (by: Fixture, n: number) => by.deliveryQueue.cancel(app.id, at(n), 100),
        "the next events of an object": (by: Fixture, n: number) =>
          Effect.asVoid(by.enqueue(app, [f.event(1, early), f.event(n + 10, early)])),
        "a purge": (by: Fixture) =>
          Effect.map(by.deliveries.purge(long, 100), (count) => {
            purged += count
          })
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        log: by.deliveries.log({ applicationId: app.id, after: 0, limit: 100 }),
        "a delivery": by.deliveries.find(one.delivery.id),
        "another delivery": by.deliveries.find(two.delivery.id),
        "what was claimed": Effect.sync(() => sorted(claimed)),
        "what was purged": Effect.sync(() => purged)
      })
    } satisfies Scene & { readonly app: unknown }
  })

/** The same deliveries, by the pages of lists and of the log. */
export const pages = (f: Fixture) =>
  Effect.map(queue(f), ({ app, operations, parts, rest }): Scene => ({
    rest,
    operations,
    parts: (by) => ({
      log: parts(by).log,
      ...Object.fromEntries((["pending", "delivered"] as const).map((state) => [
        `${state} deliveries`,
        by.deliveries.list({
          applicationId: Option.some(app.id),
          state: Option.some(state),
          after: Option.none(),
          limit: 100
        })
      ]))
    })
  }))

/** Deliveries of an application, more than a store may write in one batch. A third has ended, the others are claimed. */
export const backlog = (f: Fixture) =>
  Effect.gen(function*() {
    const { app, claim, operations, parts } = yield* subscribed(f)
    const objects = Arr.range(1, 120)
    yield* f.enqueue(app, f.events(objects, early))
    const [some, claimed] = Arr.splitAt(yield* claim(f, -1000), 40)
    const ends = (["delivered", "exhausted", "set_aside"] as const).map((state, place) =>
      settled(some.filter((_, index) => index % 3 === place), { state, endedAt: Option.some(long) })
    )
    yield* f.deliveryQueue.settle(ends.flat())
    return {
      // It would take longer than everything else.
      rest: () => Effect.void,
      operations: {
        ...operations,
        "a cancellation": (by: Fixture, n: number) => by.deliveryQueue.cancel(app.id, at(n), 1000),
        "a purge": (by: Fixture) => Effect.asVoid(by.deliveries.purge(long, 1000)),
        "settling all deliveries": (by: Fixture) => Effect.asVoid(by.deliveryQueue.settle(settled(claimed))),
        "enqueueing many events": (by: Fixture) => Effect.asVoid(by.enqueue(app, f.events(objects, early)))
      },
      parts: (by: Fixture) => ({
        ...parts(by),
        deliveries: Effect.map(by.listed(app), (found) => found.map(({ state }) => state))
      })
    } satisfies Scene
  })

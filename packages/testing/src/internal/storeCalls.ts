/** The calls of random programs over the stores that change something. */
import { type Application, ApplicationId, State } from "@startlist/core/Application"
import { Audience, type Outgoing } from "@startlist/core/Event"
import { emptyUpdates } from "@startlist/core/Registration"
import { maxId } from "@startlist/core/Store"
import type { SubscriptionId } from "@startlist/core/Subscription"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { holds, sorted } from "./expecting.ts"
import type { Fixture } from "./fixture.ts"
import {
  applicationOf,
  call,
  type Draw,
  type MakeCall,
  optional,
  predicted,
  saved,
  type Subjects,
  time
} from "./storeCall.ts"
import { find } from "./storeFinds.ts"
import type { StoreModel } from "./storeModel.ts"

/** Usually the next version. Otherwise one that may not be saved. */
const versionAfter = (version: number, draw: Draw): number => version + draw.choice(1, 1, 1, 1, 1, 1, 1, 1, 0, 2)

const isNew = (id: number, others: Iterable<number>): void =>
  holds(id > Math.max(0, ...others), `identifier ${id} is a new one`)

/** Up to three events about few objects, for one application or for those of several users. */
const events = (subjects: Subjects, by: Fixture, draw: Draw): ReadonlyArray<Outgoing> =>
  Array.from({ length: draw.choice(1, 2, 3, 0, 0) }, () => {
    const objectType = draw.choice("registration", "registration", "athlete")
    const about = objectType === "athlete" ? { aspectType: "deleted", updates: {} } as const : {}
    const at = time(subjects.now + draw.choice(0, 0, -3, 7))
    const event = by.event(1 + draw.number(3), at, { ...about, objectType })
    const { id: applicationId } = applicationOf(subjects, draw) ?? { id: ApplicationId.make(maxId) }
    const userIds = draw.some(subjects.users).map(({ id }) => id)
    const audience = draw.choice<Audience>(Audience.Application({ applicationId }), Audience.GrantedBy({ userIds }))
    return { event, audience }
  })

const insertApplication: MakeCall = ({ model, now, users }, by, draw) => {
  if (model.applications.size >= 4) return undefined
  const given = {
    name: by.name("application"),
    ownerId: draw.choice(...users).id,
    redirectUris: [`https://app.example.test/${draw.number(9)}`],
    requirePkce: draw.number(2) === 1,
    secrets: [{ hash: by.hash(), expiresAt: Option.none() }],
    createdAt: time(now)
  }
  const value = Redacted.make(by.name("whsec"))
  return call(by.applications.insert(given, value), (model, { id }) => {
    isNew(id, model.applications.keys())
    const inserted: Application = { ...given, id, version: 1, state: "active", epoch: 0 }
    const secrets = [{ value, expiresAt: Option.none() }]
    model.insertApplication(inserted, { applicationId: id, version: 1, secrets })
    return inserted
  })
}

const saveApplication: MakeCall = (subjects, by, draw) => {
  const before = applicationOf(subjects, draw)
  if (before === undefined) return undefined
  const next: Application = {
    ...before,
    ...draw.choice<Partial<Application>>(
      { state: before.state === "active" ? "suspended" : "active" },
      { name: by.name("renamed"), redirectUris: [], links: { website: `https://${draw.number(9)}.example.test` } },
      { epoch: before.epoch + 1 },
      { ownerId: draw.choice(...subjects.users).id },
      { secrets: [by.hash(), by.hash()].map((hash) => ({ hash, expiresAt: Option.some(time(draw.number(9))) })) },
      { state: draw.choice(...State.literals) }
    ),
    version: versionAfter(before.version, draw)
  }
  return saved(by.applications.save(next), (model) => model.saveApplication(next))
}

const saveSigningSecrets: MakeCall = (subjects, by, draw) => {
  const before = draw.of(subjects.model.signingSecrets.values())
  if (before === undefined) return undefined
  const secrets = Array.from({ length: draw.choice(1, 2, 3) }, (_, place) => ({
    value: Redacted.make(by.name("whsec")),
    expiresAt: place === 0 ? Option.none() : Option.some(time(draw.number(99)))
  }))
  const next = { ...before, secrets, version: versionAfter(before.version, draw) }
  return saved(by.applications.saveSigningSecrets(next), (model) => model.saveSigningSecrets(next), {
    changes: "subscriptions and secrets"
  })
}

const insertSubscription: MakeCall = (subjects, by, draw) => {
  const applicationId = applicationOf(subjects, draw)?.id
  if (applicationId === undefined) return undefined
  const at = time(subjects.now)
  const given = { applicationId, callbackUrl: `https://${draw.number(999)}.example.test`, createdAt: at, updatedAt: at }
  const insert = Effect.catchTag(
    by.subscriptions.insert(given),
    "AlreadySubscribed",
    ({ _tag }) => Effect.succeed(_tag)
  )
  return call(insert, (model, answer) => {
    if (model.subscriptionOf(applicationId) !== undefined) return "AlreadySubscribed"
    const id = answer === "AlreadySubscribed" ? undefined : answer.id
    if (id === undefined) return "a subscription"
    isNew(id, [...model.subscriptions.keys(), ...model.removed.map(({ id }) => id)])
    const inserted = { ...given, id, version: 1, paused: false }
    model.subscriptions.set(id, inserted)
    return inserted
  })
}

/** A subscription, or one that was removed. */
const subscriptionOf = ({ model: { removed, subscriptions } }: Subjects, draw: Draw) =>
  draw.of([...removed.slice(-1), ...subscriptions.values()])

const saveSubscription: MakeCall = (subjects, by, draw) => {
  const before = subscriptionOf(subjects, draw)
  if (before === undefined) return undefined
  const next = {
    ...before,
    ...draw.choice(
      { paused: !before.paused },
      { paused: !before.paused, updatedAt: time(subjects.now) },
      { callbackUrl: `https://${draw.number(999)}.example.test` }
    ),
    version: versionAfter(before.version, draw)
  }
  return saved(by.subscriptions.save(next), (model) => model.saveSubscription(next), {
    changes: "subscriptions and secrets"
  })
}

const removeSubscription: MakeCall = (subjects, by, draw) => {
  const id = subscriptionOf(subjects, draw)?.id
  if (id === undefined) return undefined
  const now = time(subjects.now)
  return predicted(by.subscriptions.remove(id, now), (model) => model.removeSubscription(id, now))
}

const insertRegistration: MakeCall = ({ model, users }, by, draw) => {
  if (model.registrations.size >= 3) return undefined
  const [athlete, ...others] = users
  const [organizerId, clubId] = [draw.of([undefined, ...others]), draw.of([undefined, ...others])].map((user) =>
    optional(user?.id)
  )
  const parties = {
    athleteId: athlete.id,
    organizerId: organizerId ?? Option.none(),
    clubId: clubId ?? Option.none(),
    platformUserId: Option.none()
  }
  const given = { parties, updates: { ...emptyUpdates, comment: by.name("comment") } }
  return call(by.registrations.insert(given), (model, { id }) => {
    isNew(id, model.registrations.keys())
    const inserted = { ...given, id, version: 1 }
    model.registrations.set(id, inserted)
    return inserted
  })
}

const saveRegistration: MakeCall = (subjects, by, draw) => {
  const before = draw.of(subjects.model.registrations.values())
  if (before === undefined) return undefined
  const reasons = [by.name("reason"), ""].slice(draw.number(3))
  const next = {
    ...before,
    parties: draw.number(3) === 2
      ? { ...before.parties, clubId: Option.some(draw.choice(...subjects.users).id) }
      : before.parties,
    updates: { ...before.updates, registration_status: by.name("status"), reasons },
    version: versionAfter(before.version, draw)
  }
  const outgoing = events(subjects, by, draw)
  const act = (model: StoreModel) => model.saveRegistration(next, outgoing)
  return saved(by.registrations.save(next, outgoing), act, { changes: "identifiers", tells: ["identifiers"] })
}

const saveGrant: MakeCall = (subjects, by, draw) => {
  const [app, user] = [applicationOf(subjects, draw), draw.choice(...subjects.users)]
  if (app === undefined) return undefined
  const before = subjects.model.grant(app.id, user.id)
  const granted = subjects.now + draw.number(1000) / 1000
  const next = by.newGrant(app, user, {
    status: draw.choice("active", "active", "active", "revoked"),
    scope: [`scope:${draw.number(9)}`, "first"],
    grantedAt: time(granted),
    generation: draw.number(9),
    codes: [by.code({ expiresAt: time(granted), redeemed: draw.number(2) === 1 })].slice(draw.number(2)),
    refresh: Option.some(by.refresh({ issuedAt: time(granted) })),
    applicationEpoch: draw.choice(app.epoch, app.epoch, app.epoch, before?.applicationEpoch ?? 0),
    version: Math.max(1, versionAfter(before?.version ?? 0, draw))
  })
  const outgoing = events(subjects, by, draw)
  const act = (model: StoreModel) => model.saveGrant(next, outgoing)
  return saved(by.grants.save({ grant: next, outgoing }), act, { changes: "identifiers", tells: ["identifiers"] })
}

const enqueue: MakeCall = (subjects, by, draw) => {
  const outgoing = events(subjects, by, draw)
  // The identifiers are compared with what a list shows next.
  const act = (model: StoreModel) => model.enqueue(outgoing)
  return predicted(Effect.as(by.deliveryQueue.enqueue(outgoing), true), act, {
    changes: "identifiers",
    tells: ["identifiers"]
  })
}

/** A claim. Without choices, of all that is due. */
export const claim: MakeCall = ({ model, now }, by, draw) => {
  const request = {
    now: time(now),
    leaseEnds: time(now + draw.choice(15, 15, 1)),
    token: by.name("claim"),
    limit: draw.choice(1000, 1000, 3, 2, 1, 0),
    perSubscription: draw.choice(1000, 1000, 2, 1, 0),
    allowances: new Map<SubscriptionId, number>(
      draw.some([...model.subscriptions.keys()]).map((id) => [id, draw.number(3)])
    )
  }
  const claimed = by.deliveryQueue.claim(request)
  // A claim skips what another call has locked.
  const { run: shared } = call(claimed, (model, answer) => {
    const ids = new Set<number | undefined>(answer.map(({ delivery }) => delivery.id))
    return model.claim(request, model.claimable(request).filter(({ id }) => ids.has(id)))
  })
  return predicted(claimed, (model) => model.claim(request, model.claimable(request)), {
    shared,
    tells: ["identifiers", "subscriptions and secrets"]
  })
}

/** Some claims, usually of those that still hold. */
const someClaims = ({ claims, deliveries }: StoreModel, draw: Draw) => {
  const tokens = new Set(deliveries.map(({ claim, id }) => `${id} ${claim?.token}`))
  const held = claims.filter(({ delivery: { id }, token }) => tokens.has(`${id} ${token}`))
  return draw.choice(held, draw.some(held), draw.some(claims))
}

const settle: MakeCall = ({ model, now }, by, draw) => {
  const settlements = someClaims(model, draw).map(({ delivery, token }) => {
    const attempt = { at: time(now), durationMs: draw.number(9), status: Option.some(200 + draw.number(400)) }
    const attempts = [...delivery.attempts, { ...attempt, outcome: "rejected", detail: by.name("detail") } as const]
    const state = draw.choice("delivered", "pending", "pending", "exhausted", "set_aside")
    const outcome = state === "pending"
      ? { dueAt: time(now + draw.choice(0, 5, 60)) }
      : { endedAt: Option.some(time(now + draw.number(3))) }
    return {
      delivery: { ...delivery, attempts, state, ...outcome },
      token: draw.number(8) === 7 ? "of another worker" : token
    }
  })
  const batch = draw.choice(settlements, settlements, [...settlements, ...settlements])
  return predicted(Effect.map(by.deliveryQueue.settle(batch), sorted), (model) => sorted(model.settle(batch)))
}

const release: MakeCall = ({ model, now }, by, draw) => {
  const dueAt = time(now + draw.choice(0, -1, 5))
  const claims = someClaims(model, draw)
  return predicted(
    Effect.map(by.deliveryQueue.release(claims, dueAt), sorted),
    (model) => sorted(model.release(claims, dueAt))
  )
}

const cancel: MakeCall = (subjects, by, draw) => {
  const id = applicationOf(subjects, draw)?.id
  if (id === undefined) return undefined
  const [now, limit] = [time(subjects.now), draw.choice(1000, 2, 1, 0)]
  const cancelled = by.deliveryQueue.cancel(id, now, limit)
  // Of those that another call ends at the same time, none comes instead.
  const { run: shared } = call(cancelled, (model, answer) => model.cancel(id, now, Math.min(answer, limit)))
  return predicted(cancelled, (model) => model.cancel(id, now, limit), { shared })
}

const again: MakeCall = (subjects, by, draw) => {
  const { deliveries, purged } = subjects.model
  const now = time(subjects.now)
  const one = draw.of(deliveries)
  const id = draw.choice(one?.id, one?.id, draw.of(purged))
  if (one === undefined || id === undefined) return undefined
  const given = { ...one.delivery, id, event: draw.choice(one.delivery.event, by.event(9, now)) }
  return call(by.deliveryQueue.again(given, now), (model, answer) => {
    const expected = model.again(id, now)
    if (expected === undefined || Option.isNone(answer)) return Option.fromNullable(expected)
    isNew(answer.value.id, model.deliveries.flatMap(({ id }) => id ?? []))
    model.add(expected, answer.value.id)
    return Option.some({ ...expected, id: answer.value.id })
  }, { tells: ["identifiers"] })
}

const purge: MakeCall = ({ model, now }, by, draw) => {
  const before = time(now - draw.choice(0, 5, 20))
  const limit = draw.choice(1000, 2, 1)
  const ids = model.purgeable(before)
  const run = Effect.gen(function*() {
    const count = yield* by.deliveries.purge(before, limit)
    const left = (yield* Effect.forEach(ids, by.deliveries.find)).flatMap(Option.toArray).map(({ id }) => id)
    return { count, gone: ids.filter((id) => !left.includes(id)) }
  })
  return call(run, (model, { gone }) => {
    model.purge(gone)
    const count = Math.min(limit, ids.length)
    return { count, gone: gone.length === count ? gone : `${count} deliveries` }
  }, { isAlone: true })
}

/** The first calls of every program: two subscribed applications, each with a grant, and a registration. */
export const beginning = [
  insertApplication,
  insertSubscription,
  insertApplication,
  insertSubscription,
  insertRegistration
]

const frequencies: ReadonlyArray<readonly [MakeCall, number]> = [
  [find, 30],
  [insertApplication, 1],
  [saveApplication, 5],
  [saveSigningSecrets, 3],
  [insertSubscription, 3],
  [saveSubscription, 4],
  [removeSubscription, 2],
  [insertRegistration, 1],
  [saveRegistration, 5],
  [saveGrant, 8],
  [enqueue, 9],
  [claim, 12],
  [settle, 9],
  [release, 4],
  [cancel, 3],
  [again, 4],
  [purge, 3]
]

/** All calls, each as often as its frequency. */
export const calls = frequencies.flatMap(([make, frequency]) => Array.from({ length: frequency }, () => make))

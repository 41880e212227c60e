/** The calls of random programs over the stores that change something. */
import { type Application, type ApplicationId, State } from "@startlist/core/Application"
import { type ClientSecret, first } from "@startlist/core/ApplicationSecret"
import { type Delivery, State as DeliveryState } from "@startlist/core/Delivery"
import { emptyUpdates } from "@startlist/core/Registration"
import type { Fingerprint } from "@startlist/core/Secrets"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import { holds, same, sorted } from "./expecting.ts"
import {
  applicationOf,
  call,
  type Draw,
  later,
  type MakeCall,
  optional,
  predicted,
  saved,
  type Subjects
} from "./storeCall.ts"
import type { StoreModel } from "./storeModel.ts"
import { callbacks, events, grantFields, settings, signingSecrets } from "./storeValues.ts"

/** Usually the next version. Otherwise one that may not be saved. */
const versionAfter = (version: number, draw: Draw): number => version + draw.choice(1, 1, 1, 1, 1, 1, 1, 1, 0, 2)

const isNew = (id: number, others: Iterable<number>): void =>
  holds(id > Math.max(0, ...others), `identifier ${id} is a new one`)

/** The settings with this fingerprint of the first client secret, by which a store recognises a repeated insertion. */
const withFirst = <A extends { readonly secrets: ReadonlyArray<ClientSecret> }>(hash: Fingerprint, fields: A): A => ({
  ...fields,
  secrets: fields.secrets.map((secret, place) => place === 0 ? { ...secret, hash } : secret)
})

export const insertApplication: MakeCall = ({ model, now, users }, by, draw) => {
  if (model.applications.size >= 4) return undefined
  const given = {
    redirectUris: [`https://app.example.test/${draw.number(9)}`],
    requirePkce: draw.number(2) === 1,
    secrets: [{ ...first, hash: by.hash() }],
    createdAt: now,
    ...draw.number(3) === 2 ? withFirst(by.hash(), draw.any(settings)) : {},
    name: by.name("application"),
    ownerId: draw.choice(...users).id
  }
  const value = Redacted.make(by.name("whsec"))
  const insert = Effect.catchTag(
    by.applications.insert(given, value),
    "@startlist/core/Conflict",
    ({ _tag }) => Effect.succeed(_tag)
  )
  const act = (model: StoreModel, id: ApplicationId | undefined) => {
    if (model.firstSecrets.has(given.secrets[0]?.hash)) return "@startlist/core/Conflict"
    if (id === undefined) return "an application"
    isNew(id, model.applications.keys())
    const inserted: Application = { ...given, id, version: 1, state: "active", epoch: 0 }
    const secrets = [{ ...first, value }]
    model.insertApplication(inserted, { applicationId: id, version: 1, secrets })
    return inserted
  }
  const owned = by.applications.list({ owner: Option.some(given.ownerId), after: Option.none(), limit: 5 })
  return call(insert, (model, answer) => act(model, typeof answer === "string" ? undefined : answer.id), {
    recovered: Effect.map(owned, (all) => (model) => {
      const inserted = all.find(({ name }) => name === given.name)
      holds(inserted !== undefined, "the application is inserted")
      if (inserted !== undefined) act(model, inserted.id)
    })
  })
}

export const saveApplication: MakeCall = (subjects, by, draw) => {
  const before = applicationOf(subjects, draw)
  if (before === undefined) return undefined
  const { links: _, requestsPerMinute: __, ...withoutLinks } = before
  const next: Application = {
    ...draw.choice<() => Omit<Application, "version">>(
      () => ({
        ...before,
        name: by.name("renamed"),
        redirectUris: [`https://${before.version}.test`],
        requirePkce: !before.requirePkce,
        links: { logo: `https://${before.version}.test` },
        requestsPerMinute: 1 + draw.number(999),
        secrets: [{ ...first, hash: by.hash() }]
      }),
      () => ({ ...before, state: before.state === "active" ? "suspended" : "active" }),
      () => ({ ...before, redirectUris: [] }),
      () => ({ ...before, epoch: before.epoch + 1 }),
      () => ({ ...before, ownerId: draw.choice(...subjects.users).id }),
      () => ({ ...withoutLinks, ...draw.any(settings), epoch: before.epoch + draw.number(999) }),
      () => ({ ...before, links: {} }),
      () => ({ ...before, state: draw.choice(...State.literals) })
    )(),
    version: versionAfter(before.version, draw)
  }
  return saved(by.applications.save(next), (model) => model.saveApplication(next))
}

export const saveSigningSecrets: MakeCall = (subjects, by, draw) => {
  const before = draw.of(subjects.model.signingSecrets.values())
  if (before === undefined) return undefined
  const secrets = Array.from({ length: draw.choice(1, 2, 3) }, (_, place) => ({
    number: place + 1,
    value: Redacted.make(by.name("whsec")),
    expiresAt: place === 0 ? Option.none() : Option.some(later(subjects.now, draw.number(99)))
  }))
  const next = {
    ...before,
    secrets: draw.number(4) === 3 ? draw.any(signingSecrets) : secrets,
    version: versionAfter(before.version, draw)
  }
  return saved(by.applications.saveSigningSecrets(next), (model) => model.saveSigningSecrets(next), {
    claims: "is shown"
  })
}

export const insertSubscription: MakeCall = (subjects, by, draw) => {
  const applicationId = applicationOf(subjects, draw)?.id
  if (applicationId === undefined) return undefined
  const times = { createdAt: subjects.now, updatedAt: subjects.now }
  const fields = { ...times, callbackUrl: `https://${draw.number(999)}.example.test` }
  const given = { ...draw.number(4) === 3 ? draw.any(callbacks) : fields, applicationId }
  const insert = Effect.catchTags(by.subscriptions.insert(given), {
    "@startlist/core/ApplicationNotFound": ({ _tag }) => Effect.succeed(_tag),
    "@startlist/core/AlreadySubscribed": ({ _tag }) => Effect.succeed(_tag)
  })
  const act = (model: StoreModel, id: SubscriptionId | undefined) => {
    if (model.applications.get(applicationId)?.state === "ended") return "@startlist/core/ApplicationNotFound"
    if (model.subscriptionOf(applicationId) !== undefined) return "@startlist/core/AlreadySubscribed"
    if (id === undefined) return "a subscription"
    isNew(id, [...model.subscriptions.keys(), ...model.removed.map(({ id }) => id)])
    const inserted = { ...given, id, version: 1, paused: false, pausedByOperator: false }
    model.subscriptions.set(id, inserted)
    return inserted
  }
  return call(insert, (model, answer) => act(model, typeof answer === "string" ? undefined : answer.id), {
    recovered: Effect.map(by.subscriptions.findByApplication(applicationId), (inserted) => (model) => {
      holds(Option.isSome(inserted), "the subscription is inserted")
      if (Option.isSome(inserted)) act(model, inserted.value.id)
    })
  })
}

/** A subscription, or one that was removed. */
const subscriptionOf = ({ model: { removed, subscriptions } }: Subjects, draw: Draw) =>
  draw.of([...removed.slice(-1), ...subscriptions.values()])

export const saveSubscription: MakeCall = (subjects, by, draw) => {
  const before = subscriptionOf(subjects, draw)
  if (before === undefined) return undefined
  const { createdAt: _, ...fields } = draw.any(callbacks)
  const next = {
    ...before,
    ...draw.choice<Partial<Subscription>>(
      { callbackUrl: `https://${by.name("app")}.test`, updatedAt: subjects.now },
      { callbackUrl: `https://${draw.number(999)}.example.test` },
      { paused: !before.paused },
      { paused: true, pausedByOperator: !before.pausedByOperator },
      { paused: !before.paused, updatedAt: subjects.now },
      fields
    ),
    version: versionAfter(before.version, draw)
  }
  return saved(by.subscriptions.save(next), (model) => model.saveSubscription(next), { claims: "is shown" })
}

export const removeSubscription: MakeCall = (subjects, by, draw) => {
  const id = subscriptionOf(subjects, draw)?.id
  if (id === undefined) return undefined
  const { now } = subjects
  return predicted(by.subscriptions.remove(id, now), (model) => model.removeSubscription(id, now), { isOnce: true })
}

export const insertRegistration: MakeCall = ({ model, users }, by, draw) => {
  if (model.registrations.size >= 3) return undefined
  const party = () => optional(draw.of([undefined, ...users])?.id)
  const parties = {
    athleteId: draw.choice(...users).id,
    organizerId: party(),
    clubId: party(),
    platformUserId: party()
  }
  const updates = draw.number(3) === 2 ? draw.any(Arbitraries.updates) : emptyUpdates
  const given = { parties, updates: { ...updates, platform_id: by.name("registration") } }
  return call(by.registrations.insert(given), (model, { id }) => {
    isNew(id, model.registrations.keys())
    const inserted = { ...given, id, version: 1 }
    model.registrations.set(id, inserted)
    return inserted
  })
}

export const saveRegistration: MakeCall = (subjects, by, draw) => {
  const before = draw.of(subjects.model.registrations.values())
  if (before === undefined) return undefined
  const reasons = [by.name("reason"), "again", "again", ""].slice(draw.number(5))
  const next = {
    ...before,
    parties: draw.number(3) === 2
      ? { ...before.parties, clubId: Option.some(draw.choice(...subjects.users).id) }
      : before.parties,
    updates: draw.number(3) === 2
      ? draw.any(Arbitraries.updates)
      : { ...before.updates, registration_status: by.name("status"), reasons },
    version: versionAfter(before.version, draw)
  }
  const outgoing = events(subjects, by, draw)
  return saved(by.registrations.save(next, outgoing), (model) => model.saveRegistration(next, outgoing))
}

export const saveGrant: MakeCall = (subjects, by, draw) => {
  const [app, user] = [applicationOf(subjects, draw), draw.choice(...subjects.users)]
  if (app === undefined) return undefined
  const before = subjects.model.grant(app.id, user.id)
  // Those of a day differ by less than a second.
  const granted = later(DateTime.startOf(subjects.now, "day"), draw.number(1000) / 1000)
  const next = by.newGrant(app, user, {
    scope: [`scope:${draw.number(9)}`, "first"],
    grantedAt: granted,
    generation: draw.number(9),
    lineStart: draw.number(9),
    codes: [by.code({
      expiresAt: granted,
      redeemed: draw.number(2) === 1 ? Option.some({ at: granted, line: draw.number(9) }) : Option.none()
    })].slice(draw.number(2)),
    refresh: Option.some(by.refresh({ issuedAt: granted })),
    ...draw.number(3) === 2 ? grantFields(by, draw) : {},
    status: draw.choice("active", "active", "active", "revoked"),
    applicationEpoch: draw.choice(app.epoch, app.epoch, app.epoch, before?.applicationEpoch ?? 0),
    version: Math.max(1, versionAfter(before?.version ?? 0, draw))
  })
  // For applications alone: whether an audience of users counts the grant as it is saved, or as it was, is not promised.
  const outgoing = events(subjects, by, draw, [])
  return saved(by.grants.save({ grant: next, outgoing }), (model) => model.saveGrant(next, outgoing))
}

export const enqueue: MakeCall = (subjects, by, draw) => {
  const outgoing = events(subjects, by, draw)
  // The identifiers are compared with what a list shows next.
  return predicted(Effect.map(by.deliveryQueue.enqueue(outgoing), (ids) => new Set(ids).size), (model) => {
    const before = model.deliveries.length
    model.enqueue(outgoing)
    return model.deliveries.length - before
  })
}

/** A claim. Without choices, of all that is due. */
export const claim: MakeCall = ({ model, now }, by, draw) => {
  const request = {
    now,
    leaseEnds: later(now, draw.choice(15, 15, 1, 0.5)),
    token: by.name("claim"),
    limit: draw.choice(1000, 1000, 3, 2, 1, 0),
    perSubscription: draw.choice(1000, 1000, 2, 1, 0),
    allowances: new Map<SubscriptionId, number>(
      draw.some([...model.subscriptions.keys()]).map((id) => [id, draw.number(3)])
    )
  }
  const claimed = by.deliveryQueue.claim(request)
  const { run } = call(claimed, (model, answer) => {
    model.learn(answer.map(({ delivery }) => delivery))
    return model.claim(request, model.claimable(request))
  })
  // A claim skips what another call has locked.
  const { run: shared } = call(claimed, (model, answer) => {
    model.learn(answer.map(({ delivery }) => delivery))
    const ids = new Set<number | undefined>(answer.map(({ delivery }) => delivery.id))
    return model.claim(request, model.claimable(request).filter(({ id }) => ids.has(id)))
  })
  const unanswered = (model: StoreModel) => model.claim(request, model.claimable(request))
  return { run, shared, unanswered, claims: "shows" }
}

/** Some claims, usually of those that still hold. */
const someClaims = ({ claims, deliveries }: StoreModel, draw: Draw) => {
  const tokens = new Set(deliveries.map(({ claim, id }) => `${id} ${claim?.token}`))
  const held = claims.filter(({ delivery: { id }, token }) => tokens.has(`${id} ${token}`))
  return draw.choice(held, draw.some(held), draw.some(claims))
}

export const settle: MakeCall = ({ model, now }, by, draw) => {
  const settlements = someClaims(model, draw).map(({ delivery, token }, place) => {
    const rejected = {
      durationMs: draw.number(9),
      status: Option.some(200 + draw.number(400)),
      detail: by.name("detail")
    }
    const attempt = draw.number(2) === 1
      ? draw.any(Arbitraries.attempt)
      : { ...rejected, at: now, outcome: "rejected" } as const
    const state = draw.choice(place % 2 === 0 ? "delivered" : "pending", "pending", ...DeliveryState.literals)
    const endedAt = state === "pending" ? Option.none() : Option.some(later(now, draw.number(3)))
    return {
      delivery: {
        ...delivery,
        attempts: [...delivery.attempts, attempt].slice(draw.choice(0, 0, 0, 1)),
        state,
        dueAt: later(now, draw.choice(0, 5, 60, 0.5)),
        endedAt
      },
      token: draw.choice(token, token, token, token, token, "of another worker", token.toUpperCase())
    }
  })
  const lost = settlements.map((one) => ({ ...one, token: "of another worker" }))
  const twice = draw.choice([...settlements, ...settlements], [...lost, ...settlements, ...lost])
  const batch = draw.choice(settlements, settlements, twice)
  return predicted(Effect.map(by.deliveryQueue.settle(batch), sorted), (model) => sorted(model.settle(batch)), {
    isOnce: true
  })
}

export const release: MakeCall = ({ model, now }, by, draw) => {
  const dueAt = later(now, draw.choice(0, -1, -30, 5, 0.5))
  const some = someClaims(model, draw)
  const claims = draw.choice(some, some, some, [...some, ...some])
  return predicted(
    Effect.map(by.deliveryQueue.release(claims, dueAt), sorted),
    (model) => sorted(model.release(claims, dueAt)),
    { isOnce: true }
  )
}

export const cancel: MakeCall = (subjects, by, draw) => {
  const id = applicationOf(subjects, draw)?.id
  if (id === undefined) return undefined
  const [now, limit] = [subjects.now, draw.choice(1000, 2, 1, 0)]
  const cancelled = by.deliveryQueue.cancel(id, now, limit)
  // Of those that another call ends at the same time, none comes instead.
  const { run: shared } = call(cancelled, (model, answer) => model.cancel(id, now, Math.min(answer, limit)))
  return predicted(cancelled, (model) => model.cancel(id, now, limit), { shared })
}

export const again: MakeCall = ({ model, now }, by, draw) => {
  const one = draw.of(model.deliveries)
  const id = draw.choice(one?.id, one?.id, draw.of(model.purged))
  if (one === undefined || id === undefined) return undefined
  const given = { ...one.delivery, id, event: draw.choice(one.delivery.event, by.event(9, now)) }
  const run = by.deliveryQueue.again(given, now)
  const act = (model: StoreModel, answer?: Delivery) => {
    const expected = model.again(id, now)
    if (expected === undefined) return Option.none()
    if (answer !== undefined) isNew(answer.id, model.deliveries.flatMap(({ id }) => id ?? []))
    model.add(expected, false, answer?.id)
    return Option.some({ ...expected, id: answer?.id })
  }
  return call(run, (model, answer) => act(model, Option.getOrUndefined(answer)), { unanswered: act })
}

export const purge: MakeCall = ({ model, now }, by, draw) => {
  const before = later(now, draw.choice(0, -5, -20))
  const limit = draw.choice(1000, 2, 1)
  const ids = model.purgeable(before)
  const left = Effect.map(Effect.forEach(ids, by.deliveries.find), (found) => found.map(Option.isSome))
  const act = (model: StoreModel, left: ReadonlyArray<boolean>) => {
    const present = model.purgeable(before)
    const gone = present.filter((id) => left[ids.indexOf(id)] !== true)
    const count = Math.min(limit, present.length)
    same(gone.length, count, "number of deliveries that are gone")
    model.purge(gone)
    return { count, left: ids.map((id) => model.deliveries.some((one) => one.id === id)) }
  }
  const run = Effect.flatMap(
    by.deliveries.purge(before, limit),
    (count) => Effect.map(left, (left) => ({ count, left }))
  )
  return call(run, (model, { left }) => act(model, left), {
    isAlone: true,
    recovered: Effect.map(left, (left) => (model) => void act(model, left))
  })
}

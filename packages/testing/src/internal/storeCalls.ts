/** The calls of random programs that change records, but for the queue of deliveries. */
import { type Application, type ApplicationId, State } from "@startlist/core/Application"
import { type ClientSecret, first } from "@startlist/core/ApplicationSecret"
import { emptyUpdates } from "@startlist/core/Registration"
import type { Fingerprint } from "@startlist/core/Secrets"
import type { Subscription, SubscriptionId } from "@startlist/core/Subscription"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Arbitraries from "../Arbitraries.ts"
import { holds } from "./expecting.ts"
import {
  applicationOf,
  call,
  callbacks,
  type Draw,
  events,
  grantFields,
  isNew,
  later,
  type MakeCall,
  optional,
  predicted,
  saved,
  settings,
  signingSecrets,
  type Subjects
} from "./storeCall.ts"
import type { StoreModel } from "./storeModel.ts"

/** Usually the next version. Otherwise one that may not be saved. */
const versionAfter = (version: number, draw: Draw): number => version + draw.choice(1, 1, 1, 1, 1, 1, 1, 1, 0, 2)

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
